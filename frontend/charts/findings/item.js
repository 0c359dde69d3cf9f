// One finding: its sentence and cost, and below them its evidence and what one could do.

import { element } from "../../element.js";
import { formatDuration } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { goToTask, listItem } from "../side_list/items.js";
import { workerName } from "../worker/name.js";
import { markLine } from "./marks.js";
import { costText, togetherText } from "./texts.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["FindingItem"]} Finding */

/**
 * @param {Context} context
 * @param {Finding} finding
 * @param {Set<string|undefined>} open sentences of those that are open
 * @param {() => void} marked is called after somebody marked it, or undid that
 */
export function findingItem(context, finding, open, marked) {
  const cost = costText(finding);
  const summary = element(
    "summary",
    "",
    element("span", "finding-sentence", finding.sentence),
    ...(cost ? [element("span", "finding-cost muted", cost)] : []),
  );
  const details = element(
    "details",
    finding.is_failure ? "finding is-failure" : "finding",
    summary,
    ...[togetherText(finding)].filter(Boolean).map((text) => element("p", "", text)),
    ...evidenceOf(context, finding),
    ...[markLine(context, finding, marked)].filter((line) => line !== null),
  );
  details.dataset.finding = finding.sentence;
  details.open = open.has(finding.sentence);
  return element("li", "", details);
}

/**
 * @param {Context} context
 * @param {Finding} finding
 * @returns {HTMLElement[]}
 */
function evidenceOf(context, { facts, moments, tasks, workers, prefixes, advice, documentation }) {
  const link = element("a", "", "Dask's documentation");
  link.href = documentation;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  /** @type {HTMLElement[]} */
  const parts = [element("p", "finding-advice", ...withCode(advice), " ", link)];
  if (facts.length) {
    const pairs = facts.map(({ label, value }) =>
      element("div", "", element("dt", "muted", label), element("dd", "", value)),
    );
    parts.push(element("dl", "finding-facts", ...pairs));
  }
  const { selection, timeline, model } = context;
  const items = [
    ...moments.map(({ label, time }) => listItem(label, "Go to this moment", formatTime(time, 3), () => timeline.jump(time))),
    ...tasks.map((task) => {
      const where = `${formatDuration(task.stop - task.start)} · ${workerName(context, task.worker)} · ${formatTime(task.start, 3)}`;
      return listItem(task.key, "Select this task and go to it", where, () => goToTask(context, task, task.start));
    }),
    ...prefixes.filter((prefix) => model.prefixes.has(prefix)).map((prefix) => {
      return listItem(model.prefixName(prefix), "Select this prefix in all charts", "prefix", () => selection.set({ prefix, key: null }));
    }),
    ...workers.filter((worker) => model.workers.has(worker)).map((worker) => {
      return listItem(workerName(context, worker), "Select this worker in all charts", "worker", () => selection.set({ worker }));
    }),
  ]; // prettier-ignore
  if (items.length) parts.push(element("ul", "side-list finding-places", ...items));
  return parts;
}

/** @param {string} text; what is between backticks is code */
function withCode(text) {
  return text.split("`").map((part, place) => (place % 2 ? element("code", "", part) : part));
}
