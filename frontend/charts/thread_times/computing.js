// What computing consisted of: waits for the GIL, and the functions in which the profile saw tasks.

import { element } from "../../element.js";
import { formatCount, formatDuration, formatPercent } from "../../formatting.js";
import { prefixCell } from "../data_table/prefix_cell.js";

/** @typedef {import("../../types.js").Schemas["ComputingTime"]} ComputingTime */
/** @typedef {import("../../types.js").Schemas["ThreadTimes"]} ThreadTimes */
/** @typedef {import("../../timeline/model.js").Model} Model */

const LEAST_WITHOUT_CORE = 0.1; // of the time of threads: each machine has a little

/** @param {ComputingTime} computing; one sentence for the GIL, and one for the profile */
export function computingText({ seconds, gil, has_code, samples, functions }) {
  if (!seconds) return "";
  const waited =
    gil === null
      ? "Waits for the GIL were not sampled (they need the agent, and gilknocker on the workers)."
      : `About ${formatDuration(gil)} (${formatPercent(gil / seconds)}) of computing waited for the GIL.`;
  if (!has_code) return `${waited} The functions are not shared with this link.`;
  return functions.length ? `${waited} Functions in ${formatCount(samples)} samples of the profile:` : waited;
}

/**
 * What to say where the machine kept the threads, or what they waited for; "": little, or it isn't known.
 * @param {Pick<ThreadTimes, "kinds"|"without_core">} answer
 */
export function withoutCoreText({ kinds, without_core: withoutCore }) {
  const { waiting, computing } = withoutCore ?? { waiting: 0, computing: 0 };
  const seconds = kinds.reduce((sum, kind) => sum + kind.seconds, 0);
  if (waiting + computing < LEAST_WITHOUT_CORE * seconds) return "";
  const share = formatPercent((waiting + computing) / seconds);
  return (
    `For ${formatDuration(waiting + computing)} (${share}) of the threads' time the machine had no free core: tasks were ready to run for ` +
    `${formatDuration(computing)}, and threads waited ${formatDuration(waiting)} for event loops that were. ` +
    "Other processes had the cores, or more threads computed than there are cores, or a limit of the container's CPU was reached."
  );
}

/**
 * @param {ThreadTimes} answer
 * @param {Model} model
 */
export function computingPart(answer, model) {
  const { computing } = answer;
  const [machine, text] = [withoutCoreText(answer), computingText(computing)];
  const notes = [machine, text].filter(Boolean).map((each) => element("p", "chart-note", each));
  if (!text) return notes;
  const rows = computing.functions.map(({ name, file, line, prefix, share }) =>
    element(
      "li",
      "",
      element("span", "function-share", formatPercent(share)),
      element("span", "function-name", name),
      prefix === null ? "" : prefixCell(model.prefixName(prefix), prefix, model),
      element("span", "function-place muted", `${file}:${line}`),
    ),
  );
  const list = element("ul", "computing-functions", ...rows);
  list.setAttribute("aria-label", "functions that computed");
  return [...notes, ...(rows.length ? [list] : [])];
}
