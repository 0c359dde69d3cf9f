// The workers at the playhead, a row each. A click selects one for all charts, a heading sorts them.

import { element } from "../../element.js";
import { formatBytes, formatCount, formatPercent } from "../../formatting.js";
import { shortName, workerLabel } from "../../timeline/slots.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").State} State */

const MOST = 200; // rows, and as many more at each click
const FEW = 12; // workers that need no search
const LONGEST_NAME = 22; // characters that leave room for the other columns
const COLUMNS = [
  ...["worker", "address", "status", "CPU (%)", "memory (bytes)", "managed (bytes)", "unmanaged (bytes)", "spilled (bytes)"],
  ...["memory limit (bytes)", "GIL (share)", "busy threads", "threads"],
];
const HEADINGS = /** @type {const} */ (["worker", "CPU", "memory", "GIL", "busy"]);
/** @typedef {typeof HEADINGS[number]} Heading */
/** @typedef {State["workers"][number]} Now */
/** @type {Record<Exclude<Heading, "worker">, (worker: Now) => number|null>} */
const VALUES = { CPU: ({ cpu }) => cpu, memory: ({ memory }) => memory, GIL: ({ gil }) => gil, busy: ({ running }) => running };

/** @type {Chart} */
export const workersNow = {
  name: "workers-now",
  title: "Workers",
  place: "side",
  showsState: true,
  layers: [],
  help: "Workers at the playhead: the last heartbeat of each, and how many of its threads were busy. A heading sorts them.",
  create: (parent, context) => new WorkersNow(parent, context),
};

class WorkersNow {
  #parent;
  #context;
  #table = document.createElement("table");
  #note = document.createElement("p");
  #search = element("input", "bars-search");
  #more = element("button", "");
  /** @type {Heading|null} null: in the order of their starts */
  #sorted = null;
  #isReversed = false;
  #most = MOST;
  /** @type {unknown[]} what the rows are made of */
  #shown = [];

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#table.className = "workers-now";
    this.#note.className = "chart-empty";
    this.#search.type = "search";
    this.#search.placeholder = "name, host, status";
    this.#search.setAttribute("aria-label", "Find a worker");
    this.#search.maxLength = 100;
    this.#search.addEventListener("input", () => this.#render());
    this.#more.type = "button";
    this.#more.addEventListener("click", () => {
      this.#most += MOST;
      this.#render();
    });
    parent.append(this.#search, this.#table, this.#note, this.#more);
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    if (!view.state) return;
    const { selection, model } = this.#context;
    const shown = [view.state, selection.worker, model.version];
    if (shown.every((value, place) => value === this.#shown[place])) return;
    this.#shown = shown;
    this.#render();
  }

  #render() {
    const all = this.#state?.workers ?? [];
    const query = this.#search.value.trim().toLowerCase();
    const workers = this.#ordered(query ? all.filter((worker) => this.#matches(worker, query)) : all);
    this.#search.hidden = all.length <= FEW && !query;
    this.#note.textContent = workers.length ? "" : query ? "No worker matches." : "There were no workers at this time.";
    this.#more.hidden = workers.length <= this.#most;
    this.#more.textContent = `Show ${formatCount(Math.min(MOST, workers.length - this.#most))} of ${formatCount(workers.length - this.#most)} more`;
    this.#table.hidden = workers.length === 0;
    const rows = workers.slice(0, this.#most).map((worker) => this.#row(worker));
    const focused = HEADINGS.find((heading) => document.activeElement === this.#table.querySelector(`[data-heading="${heading}"]`));
    this.#table.replaceChildren(this.#headings(), ...rows);
    if (focused) /** @type {HTMLElement|null} */ (this.#table.querySelector(`[data-heading="${focused}"]`))?.focus();
  }

  #headings() {
    const cells = HEADINGS.map((heading) => {
      const isSorted = heading === this.#sorted;
      const isDown = (heading !== "worker") !== this.#isReversed;
      const button = element("button", "", isSorted ? `${heading} ${isDown ? "▾" : "▴"}` : heading);
      button.type = "button";
      button.dataset.heading = heading;
      button.addEventListener("click", () => {
        this.#isReversed = isSorted && !this.#isReversed;
        this.#sorted = heading;
        this.#render();
      });
      const cell = element("th", "", button);
      if (isSorted) cell.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      return cell;
    });
    return element("tr", "", ...cells);
  }

  /**
   * By name, or the greatest first; unknown values come last.
   * @param {Now[]} workers
   */
  #ordered(workers) {
    const sorted = this.#sorted;
    if (!sorted) return workers;
    const direction = this.#isReversed ? -1 : 1;
    if (sorted === "worker") {
      const collator = new Intl.Collator("en", { numeric: true });
      const names = new Map(workers.map((worker) => [worker, this.#name(worker)]));
      return [...workers].sort((one, other) => direction * collator.compare(names.get(one) ?? "", names.get(other) ?? ""));
    }
    const value = VALUES[sorted];
    return [...workers].sort((one, other) => {
      const [its, others] = [value(one), value(other)];
      if (its === null || others === null) return Number(its === null) - Number(others === null);
      return direction * (others - its);
    });
  }

  /** @param {Now} worker @param {string} query in lower case */
  #matches(worker, query) {
    const known = this.#context.model.workers.get(worker.id);
    const text = `${this.#name(worker)} ${known?.address ?? ""} ${known?.host ?? ""} ${worker.status}`.toLowerCase();
    return query.split(/\s+/).every((word) => text.includes(word));
  }

  /** @param {Now} worker */
  #name({ id }) {
    const known = this.#context.model.workers.get(id);
    return known ? workerLabel(known) : `worker ${id}`;
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
    const name = this.#name(worker);
    button.textContent = shortName(name, LONGEST_NAME);
    button.title = [...new Set([name, known?.address])].filter(Boolean).join(" · ");
    button.setAttribute("aria-pressed", String(isSelected));
    button.addEventListener("click", () => selection.set({ worker: isSelected ? null : worker.id }));
    const threads = known?.nthreads ?? 0;
    return row([
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

/** @param {(string|HTMLElement)[]} cells */
function row(cells) {
  return element("tr", "", ...cells.map((cell) => element("td", "", cell)));
}
