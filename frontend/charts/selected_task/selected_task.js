// The selected task: its attempts, transfers and steals, what it was made of and what was made of it. A click on a relative
// selects that.

import { element } from "../../element.js";
import { formatCount, formatCountOf, formatDuration } from "../../formatting.js";
import { MOST_LINES } from "../../timeline/tasks/lineage.js";
import { workerLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { goToTask, listItem } from "../side_list/items.js";
import { describeSteal, describeTransfer } from "./moves.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {import("../../timeline/tasks/lineage.js").Answer} Answer */
/** @typedef {import("../../timeline/tasks/lineage.js").Span} Span */
/** @typedef {import("../../timeline/tasks/lineage.js").Status} Status */
/** @typedef {import("../../timeline/tasks/lineage.js").Task} Task */

/** @type {Record<Status, string>} */
const NOTES = {
  none: "Click a task on the task stream.",
  loading: "Loading …",
  loaded: "",
  absent: "There are no dependencies of tasks here.",
  failed: "Its dependencies can't be loaded. Select the task again.",
};
const [NEEDS_AGENT, NONE] = [
  "Dependencies of tasks are recorded by the agent only.",
  "No dependencies and no dependents of it are recorded.",
];

/** @type {Chart} */
export const selectedTask = {
  name: "selected-task",
  title: "Selected task",
  place: "side",
  layers: [],
  help:
    "What the selected task was made of (dependencies), and what was made of it (dependents). The task stream lights them up, " +
    "with lines to the nearest, and dashed lines to the workers that it got data from. Click one to select it and to go to it.",
  create: (element, context) => new SelectedTask(element, context),
};

class SelectedTask {
  #element;
  #context;
  #key = element("code", "selected-task-key");
  #note = element("p", "notes-empty muted");
  #lists = element("div", "selected-task");
  /** @type {Answer|null} */
  #shown = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#element = parent;
    this.#context = context;
    this.#key.tabIndex = -1; // where the focus stays when a relative was selected by the keyboard
    this.#note.setAttribute("role", "status");
    parent.append(this.#key, this.#note, this.#lists);
  }

  destroy() {
    this.#element.replaceChildren();
  }

  isEmpty() {
    return this.#context.selection.key === null;
  }

  draw() {
    const { lineage, selection } = this.#context;
    const key = selection.key ?? "";
    if (this.#key.textContent !== key) this.#key.textContent = key;
    this.#key.hidden = !key;
    const note = this.#noteText();
    if (this.#note.textContent !== note) this.#note.textContent = note;
    if (lineage.current === this.#shown) return;
    this.#shown = lineage.current;
    const hadFocus = this.#lists.contains(document.activeElement);
    this.#lists.replaceChildren(...(this.#shown ? this.#sections(this.#shown) : []));
    if (hadFocus) this.#key.focus();
  }

  table() {
    const rows = this.#shown ? rowsOf(this.#shown, (lane) => this.#worker(lane)) : [];
    return { columns: ["relation", "key", "begin (UTC)", "worker", "seconds"], rows };
  }

  #noteText() {
    const { lineage, info } = this.#context;
    const { status, current, lines } = lineage;
    if (!current) return NOTES[status];
    const { dependencies, dependents } = current;
    if (!dependencies.total && !dependents.total) return info.has_agent ? NONE : NEEDS_AGENT;
    const counts = [
      `${formatCount(dependencies.total)} ${dependencies.total === 1 ? "dependency" : "dependencies"}`,
      formatCountOf(dependents.total, "dependent"),
    ];
    return counts.join(", ") + (lines.length < MOST_LINES ? "" : `; lines to the nearest ${MOST_LINES}`);
  }

  /** @param {Answer} answer */
  #sections({ key, prefix, spans, dependencies, dependents, transfers, steals }) {
    const attempts = spans.map((span) =>
      this.#item("computed", { key, prefix: prefix ?? -1, spans: [span] }),
    );
    return [
      ...section(spans.length > 1 ? "Attempts" : "Computed", attempts, spans.length),
      ...section(
        "Stolen",
        steals.map((steal) => this.#steal(steal)),
        steals.length,
      ),
      ...section(
        "Transfers",
        transfers.map((transfer) => this.#transfer(transfer)),
        transfers.length,
      ),
      ...section(
        "Dependencies",
        dependencies.tasks.map((task) => this.#item(task.key, task)),
        dependencies.total,
      ),
      ...section(
        "Dependents",
        dependents.tasks.map((task) => this.#item(task.key, task)),
        dependents.total,
      ),
    ];
  }

  /**
   * @param {string} name
   * @param {Task} task
   */
  #item(name, task) {
    return listItem(name, task.key, this.#describe(task.spans), () => this.#open(task));
  }

  /** @param {Schemas["LineageTransfer"]} transfer */
  #transfer(transfer) {
    const { timeline } = this.#context;
    const keys = transfer.keys.map(({ key }) => key).join("\n");
    return listItem(`from ${this.#nameOf(transfer.peer)}`, keys, describeTransfer(transfer), () =>
      timeline.jump(transfer.start),
    );
  }

  /** @param {Schemas["LineageSteal"]} steal */
  #steal(steal) {
    const name = (/** @type {number|null} */ worker) => this.#nameOf(worker);
    const text = `${formatTime(steal.time, 1)} · ${describeSteal(steal, name)}`;
    return listItem(`from ${name(steal.victim)} to ${name(steal.thief)}`, "", text, () =>
      this.#context.timeline.jump(steal.time),
    );
  }

  /** @param {Task} task */
  #open({ key, prefix, spans: [span] }) {
    const shown = prefix < 0 ? this.#context.selection.prefix : prefix;
    goToTask(this.#context, { key, prefix: shown }, span?.start);
  }

  /** @param {Span[]} spans */
  #describe(spans) {
    const [span] = spans;
    if (!span) return "did not compute";
    const times = spans.length > 1 ? `, ${spans.length}×` : "";
    return `${formatDuration(span.stop - span.start)}${times} · ${formatTime(span.start, 1)} · ${this.#worker(span.lane)}`;
  }

  /** @param {number} lane */
  #worker(lane) {
    return this.#nameOf(this.#context.model.lanes.get(lane)?.worker ?? null);
  }

  /** @param {number|null} id of a worker */
  #nameOf(id) {
    const worker = this.#context.model.workers.get(id ?? -1);
    return worker ? workerLabel(worker) : "an unknown worker";
  }
}

/**
 * @param {string} title
 * @param {HTMLElement[]} items
 * @param {number} total
 * @returns {HTMLElement[]}
 */
function section(title, items, total) {
  if (!total) return [];
  const list = element("ul", "side-list", ...items);
  const more =
    items.length < total
      ? [element("p", "notes-empty muted", `the nearest ${items.length} of ${formatCount(total)}`)]
      : [];
  return [element("h3", "", `${title} (${formatCount(total)})`), list, ...more];
}

/**
 * @param {Answer} answer
 * @param {(lane: number) => string} worker
 * @returns {import("../chart_menu/table.js").Cell[][]} a row for each span, and for each task without one
 */
export function rowsOf({ key, prefix, spans, dependencies, dependents }, worker) {
  /** @type {[string, Task[]][]} */
  const relations = [
    ["itself", [{ key, prefix: prefix ?? -1, spans }]],
    ["dependency", dependencies.tasks],
    ["dependent", dependents.tasks],
  ];
  return relations.flatMap(([relation, tasks]) =>
    tasks.flatMap((task) => rowsOfTask(relation, task, worker)),
  );
}

/**
 * @param {string} relation
 * @param {Task} task
 * @param {(lane: number) => string} worker
 * @returns {import("../chart_menu/table.js").Cell[][]}
 */
function rowsOfTask(relation, { key, spans }, worker) {
  if (!spans.length) return [[relation, key, null, null, null]];
  return spans.map(({ lane, start, stop }) => [
    relation,
    key,
    isoTime(start),
    worker(lane),
    microseconds(stop - start),
  ]);
}
