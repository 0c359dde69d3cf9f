// The workers, hosts and tasks of the window that stand out, as a table. A click shows them on the task stream.

import { element } from "../../element.js";
import { formatCount, formatDuration } from "../../formatting.js";
import { WindowData } from "../../timeline/window_data.js";
import { shortName, workerLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { FIGURES, firstFigure, ranked } from "./ranking.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./ranking.js").FigureName} FigureName */
/** @typedef {import("../../types.js").Schemas["Outliers"]} Found */
/** @typedef {Found["workers"][number]|Found["hosts"][number]} Compared */
/** @typedef {Found["tasks"][number]} LongTask */

const EVERY = 10_000; // ms, where the window moves with the present
const LONGEST_NAME = 32; // characters
const KINDS = /** @type {const} */ (["workers", "hosts", "tasks"]);
/** @type {Found} */
const NOTHING = { workers: [], hosts: [], tasks: [] };
const TASK_COLUMNS = ["task", "prefix", "worker", "begin", "duration", "× median"];

/** @type {Chart} */
export const outliers = {
  name: "outliers",
  title: "Outliers",
  place: "below",
  layers: [],
  help:
    "The ten workers, or hosts, of the window with the greatest value of a figure: choose it by its heading. Click one to select it " +
    "and to show its lanes alone; click it again to show all. Tasks: those that computed for over twice the median of their prefix; " +
    "click one to go to it.",
  create: (parent, context) => new Outliers(parent, context),
};

class Outliers {
  #parent;
  #context;
  #kinds = element("div", "outlier-kinds");
  #table = element("table", "outliers");
  #note = element("p", "notes-empty muted");
  /** @type {WindowData<Found>} */
  #data;
  /** @type {typeof KINDS[number]} */
  #kind = "workers";
  /** @type {FigureName|null} null: the first that some of them has */
  #figure = null;
  /** @type {unknown[]} what the rows are made of */
  #shown = [];

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new WindowData(context.source, "/outliers", EVERY);
    this.#data.addEventListener("change", () => this.#render());
    this.#kinds.setAttribute("role", "group");
    this.#kinds.setAttribute("aria-label", "Outliers among");
    this.#kinds.append(...KINDS.map((kind) => this.#choice(kind)));
    parent.append(this.#kinds, this.#table, this.#note);
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#data.stop();
  }

  /** @param {View} view */
  draw(view) {
    this.#data.update(view);
    this.#render();
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    if (this.#kind === "tasks") return this.#taskTable();
    const figures = FIGURES.map(({ label, unit }) => (unit ? `${label} (${unit})` : label));
    const rows = ranked(this.#compared, this.#sorted).map((outlier) => {
      return [this.#labelOf(outlier), ...FIGURES.map(({ name }) => outlier[name])];
    });
    return { columns: [this.#kind === "hosts" ? "host" : "worker", ...figures], rows };
  }

  #taskTable() {
    const rows = (this.#data.answer?.tasks ?? []).map(({ key, prefix, worker, start, stop, ratio }) => {
      return [isoTime(start), key, this.#context.model.prefixName(prefix), this.#name(worker), microseconds(stop - start), ratio];
    });
    return { columns: ["begin (UTC)", "key", "prefix", "worker", "seconds", "times the median"], rows };
  }

  /** @returns {Compared[]} */
  get #compared() {
    const { workers, hosts } = this.#data.answer ?? NOTHING;
    return this.#kind === "hosts" ? hosts : workers;
  }

  get #sorted() {
    return this.#figure ?? firstFigure(this.#compared);
  }

  /** @param {Compared} outlier */
  #labelOf(outlier) {
    return "worker" in outlier ? this.#name(outlier.worker) : outlier.host;
  }

  /** @param {number} worker id */
  #name(worker) {
    const known = this.#context.model.workers.get(worker);
    return known ? workerLabel(known) : `worker ${worker}`;
  }

  #render() {
    const { model, selection, laneOptions } = this.#context;
    const shown = [this.#data.answer, this.#data.message, this.#figure, this.#kind, selection.worker, selection.key, laneOptions.filter, model.version];
    if (shown.every((value, place) => value === this.#shown[place])) return;
    this.#shown = shown;
    const areTasks = this.#kind === "tasks";
    const compared = areTasks ? [] : ranked(this.#compared, this.#sorted).map((outlier) => this.#row(outlier));
    const rows = areTasks ? (this.#data.answer?.tasks ?? []).map((task) => this.#taskRow(task)) : compared;
    this.#table.hidden = rows.length === 0;
    this.#note.textContent = rows.length ? "" : this.#emptyText;
    for (const button of this.#kinds.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === this.#kind));
    const figures = FIGURES.map((figure) => this.#heading(figure));
    const first = element("th", "", this.#kind === "hosts" ? "host" : "worker");
    const head = areTasks ? TASK_COLUMNS.map((name) => element("th", "", name)) : [first, ...figures];
    this.#table.replaceChildren(element("thead", "", element("tr", "", ...head)), element("tbody", "", ...rows));
  }

  get #emptyText() {
    if (this.#data.message) return this.#data.message;
    if (this.#kind === "hosts") return "None: all workers are on one host.";
    return this.#kind === "tasks" ? "None: no task took twice the median of its prefix." : "None.";
  }

  /** @param {typeof KINDS[number]} kind */
  #choice(kind) {
    const button = element("button", "", kind);
    button.type = "button";
    button.value = kind;
    button.addEventListener("click", () => {
      this.#kind = kind;
      this.#figure = null;
      this.#render();
    });
    return button;
  }

  /** @param {import("./ranking.js").Figure} figure */
  #heading({ name, label, help }) {
    const isSorted = name === this.#sorted;
    const button = element("button", "", isSorted ? `${label} ▾` : label);
    button.type = "button";
    button.title = help;
    button.addEventListener("click", () => {
      this.#figure = name;
      this.#render();
      /** @type {HTMLElement|null} */ (this.#table.querySelector("[aria-sort] button"))?.focus();
    });
    const cell = element("th", "", button);
    if (isSorted) cell.setAttribute("aria-sort", "descending");
    return cell;
  }

  /** @param {Compared} outlier */
  #row(outlier) {
    const { model, selection, laneOptions } = this.#context;
    const name = this.#labelOf(outlier);
    const worker = "worker" in outlier ? outlier.worker : null;
    // the address is of this worker alone: names such as "1" are parts of others
    const filter = worker === null ? name : (model.workers.get(worker)?.address ?? name);
    const slot = model.slotOf(worker)?.key;
    const isChosen = slot === undefined ? laneOptions.filter === filter : model.slotOf(selection.worker)?.key === slot;
    const button = element("button", "", shortName(name, LONGEST_NAME));
    button.type = "button";
    button.title = name;
    button.setAttribute("aria-pressed", String(isChosen));
    button.addEventListener("click", () => {
      laneOptions.set({ filter: isChosen ? "" : filter });
      selection.set({ worker: isChosen ? null : worker });
      this.#render();
    });
    const count = "workers" in outlier ? [element("span", "muted", ` (${formatCount(outlier.workers)})`)] : [];
    const values = FIGURES.map(({ name: figure, text }) => {
      const value = outlier[figure];
      return element("td", "", value === null ? "–" : text(value));
    });
    return element("tr", "", element("td", "", button, ...count), ...values);
  }

  /** @param {LongTask} task */
  #taskRow({ key, prefix, worker, start, stop, ratio }) {
    const { model, selection, timeline } = this.#context;
    const button = element("button", "", shortName(key, LONGEST_NAME));
    button.type = "button";
    button.title = key;
    button.setAttribute("aria-pressed", String(selection.key === key));
    button.addEventListener("click", () => {
      selection.set({ worker: null, prefix, key });
      timeline.jump(start);
    });
    const texts = [model.prefixName(prefix), this.#name(worker), formatTime(start, 1), formatDuration(stop - start), `${ratio.toFixed(1)} ×`];
    return element("tr", "", element("td", "", button), ...texts.map((text) => element("td", "", text)));
  }
}
