// The workers at the playhead, a row each. A click selects one for all charts.

import { formatBytes, formatPercent } from "../../formatting.js";
import { shortName, workerLabel } from "../../timeline/slots.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").State} State */

const MOST = 200;
const LONGEST_NAME = 22; // characters that leave room for the other columns
const COLUMNS = [
  ...["worker", "address", "status", "CPU (%)", "memory (bytes)", "managed (bytes)", "unmanaged (bytes)", "spilled (bytes)"],
  ...["memory limit (bytes)", "GIL (share)", "busy threads", "threads"],
];
const HEADINGS = ["worker", "CPU", "memory", "GIL", "busy"];

/** @type {Chart} */
export const workersNow = {
  name: "workers-now",
  title: "Workers",
  place: "side",
  showsState: true,
  layers: [],
  help: "Workers at the playhead: the last heartbeat of each, and how many of its threads were busy.",
  create: (element, context) => new WorkersNow(element, context),
};

class WorkersNow {
  #element;
  #context;
  #table = document.createElement("table");
  #note = document.createElement("p");
  /** @type {unknown[]} what the rows are made of */
  #shown = [];

  /**
   * @param {HTMLElement} element
   * @param {Context} context
   */
  constructor(element, context) {
    this.#element = element;
    this.#context = context;
    this.#table.className = "workers-now";
    this.#note.className = "chart-empty";
    element.append(this.#table, this.#note);
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    if (!view.state) return;
    const { selection, model } = this.#context;
    const shown = [view.state, selection.worker, model.version];
    if (shown.every((value, place) => value === this.#shown[place])) return;
    this.#shown = shown;
    const workers = view.state.workers;
    this.#note.textContent = workers.length ? "" : "There were no workers at this time.";
    if (workers.length > MOST) this.#note.textContent = `and ${workers.length - MOST} more`;
    this.#table.hidden = workers.length === 0;
    const rows = workers.slice(0, MOST).map((worker) => this.#row(worker));
    this.#table.replaceChildren(row("th", HEADINGS), ...rows);
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    const { model } = this.#context;
    const rows = (this.#state?.workers ?? []).map((worker) => {
      const known = model.workers.get(worker.id);
      const memory = [worker.memory, worker.managed, worker.unmanaged, worker.spilled, worker.limit];
      const where = [known ? workerLabel(known) : String(worker.id), known?.address ?? "", worker.status];
      return [...where, worker.cpu, ...memory, worker.gil, worker.running, known?.nthreads ?? null];
    });
    return { columns: COLUMNS, rows };
  }

  get #state() {
    return /** @type {State|undefined} */ (this.#shown[0]);
  }

  /** @param {State["workers"][number]} worker */
  #row(worker) {
    const { info, model, selection } = this.#context;
    const known = model.workers.get(worker.id);
    const isSelected = known !== undefined && model.slotOf(selection.worker)?.key === known.slot;
    const button = document.createElement("button");
    button.type = "button";
    const name = known ? workerLabel(known) : `worker ${worker.id}`;
    button.textContent = shortName(name, LONGEST_NAME);
    button.title = [...new Set([name, known?.address])].filter(Boolean).join(" · ");
    button.setAttribute("aria-pressed", String(isSelected));
    button.addEventListener("click", () => selection.set({ worker: isSelected ? null : worker.id }));
    const threads = known?.nthreads ?? 0;
    return row("td", [
      button,
      worker.cpu === null ? "–" : formatPercent(worker.cpu / 100),
      memory(worker, info.thresholds),
      worker.gil === null ? "–" : formatPercent(worker.gil),
      worker.running === null ? "–" : `${worker.running}/${threads}`,
    ]);
  }
}

/**
 * @param {State["workers"][number]} worker
 * @param {import("../../types.js").ClusterInfo["thresholds"]} thresholds
 */
function memory(worker, thresholds) {
  const box = document.createElement("span");
  if (worker.memory === null) {
    box.textContent = "–";
    return box;
  }
  box.textContent = formatBytes(worker.memory);
  if (!worker.limit) return box;
  const meter = document.createElement("meter");
  meter.max = worker.limit;
  [meter.low, meter.high, meter.optimum] = [worker.limit * thresholds.target, worker.limit * thresholds.pause, 0];
  meter.value = worker.memory;
  box.title = `${formatBytes(worker.memory)} of ${formatBytes(worker.limit)}`;
  box.append(meter);
  return box;
}

/**
 * @param {"th"|"td"} tag
 * @param {(string|HTMLElement)[]} cells
 */
function row(tag, cells) {
  const made = document.createElement("tr");
  for (const content of cells) {
    const cell = document.createElement(tag);
    cell.append(content);
    made.append(cell);
  }
  return made;
}
