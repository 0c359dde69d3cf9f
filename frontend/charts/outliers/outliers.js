// The workers of the window that stand out, as a table that is sorted by one figure. A click shows a worker's lane.

import { element } from "../../element.js";
import { shortName, workerLabel } from "../../timeline/slots.js";
import { FIGURES, firstFigure, ranked } from "./ranking.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./ranking.js").FigureName} FigureName */
/** @typedef {import("./ranking.js").Outlier} Outlier */

const PAUSE = 500; // ms that the window must stand still
const EVERY = 10_000; // ms, where it moves with the present
const LARGEST_SHARE = 0.05; // of the time in which the server may work on it, where it moves with the present
const LONGEST_NAME = 32; // characters

/** @type {Chart} */
export const outliers = {
  name: "outliers",
  title: "Workers that stand out",
  place: "below",
  layers: [],
  help:
    "The ten workers of the window with the greatest value of a figure: choose it by its heading. Click a worker to select it " +
    "and to show its lanes alone; click it again to show all.",
  create: (parent, context) => new Outliers(parent, context),
};

class Outliers {
  #parent;
  #context;
  #table = element("table", "outliers");
  #note = element("p", "notes-empty muted");
  /** @type {Outlier[]|null} null: not loaded */
  #found = null;
  /** @type {FigureName|null} null: the first that some worker has */
  #figure = null;
  #window = "";
  #message = "loading …";
  #loaded = -Infinity; // ms: when it was loaded last
  #took = 0; // ms: how long that took
  #timer = 0;
  /** @type {unknown[]} what the rows are made of */
  #shown = [];

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    parent.append(this.#table, this.#note);
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#window = "";
  }

  /** @param {View} view */
  draw({ start, stop, live }) {
    const query = String(new URLSearchParams({ after: String(Math.max(start, 0)), before: String(stop) }));
    if (query !== this.#window) {
      this.#window = query;
      const every = Math.max(EVERY, this.#took / LARGEST_SHARE);
      const wait = live ? Math.max(PAUSE, this.#loaded + every - performance.now()) : PAUSE;
      if (!live) clearTimeout(this.#timer);
      if (!live || !this.#timer) this.#timer = window.setTimeout(() => void this.#load(), wait);
    }
    this.#render();
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    const columns = ["worker", ...FIGURES.map(({ label, unit }) => (unit ? `${label} (${unit})` : label))];
    const rows = ranked(this.#found ?? [], this.#sorted).map((outlier) => {
      return [this.#name(outlier.worker), ...FIGURES.map(({ name }) => outlier[name])];
    });
    return { columns, rows };
  }

  get #sorted() {
    return this.#figure ?? firstFigure(this.#found ?? []);
  }

  /** @param {number} worker id */
  #name(worker) {
    const known = this.#context.model.workers.get(worker);
    return known ? workerLabel(known) : `worker ${worker}`;
  }

  async #load() {
    this.#timer = 0;
    this.#loaded = performance.now();
    const { source } = this.#context;
    const query = this.#window;
    try {
      const response = await source.fetch(`${source.url}/outliers?${query}`);
      if (!response.ok && response.status !== 404) throw new Error(`the server answered ${response.status}`);
      this.#message = response.ok ? "None." : "A file of a run does not have them.";
      this.#found = response.ok ? await response.json() : [];
    } catch (error) {
      this.#message = `They can't be loaded: ${error}`;
      this.#found ??= [];
    }
    this.#took = performance.now() - this.#loaded;
    if (query === this.#window) this.#render();
  }

  #render() {
    const { model, selection } = this.#context;
    const shown = [this.#found, this.#message, this.#figure, selection.worker, model.version];
    if (shown.every((value, place) => value === this.#shown[place])) return;
    this.#shown = shown;
    const rows = ranked(this.#found ?? [], this.#sorted);
    this.#table.hidden = rows.length === 0;
    this.#note.textContent = rows.length ? "" : this.#message;
    const head = element("tr", "", element("th", "", "worker"), ...FIGURES.map((figure) => this.#heading(figure)));
    this.#table.replaceChildren(
      element("thead", "", head),
      element("tbody", "", ...rows.map((outlier) => this.#row(outlier))),
    );
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

  /** @param {Outlier} outlier */
  #row(outlier) {
    const { model, selection, laneOptions } = this.#context;
    const name = this.#name(outlier.worker);
    const slot = model.slotOf(outlier.worker)?.key;
    const isSelected = slot !== undefined && model.slotOf(selection.worker)?.key === slot;
    const button = element("button", "", shortName(name, LONGEST_NAME));
    button.type = "button";
    button.title = name;
    button.setAttribute("aria-pressed", String(isSelected));
    button.addEventListener("click", () => {
      // the address is of this worker alone: names such as "1" are parts of others
      laneOptions.set({ filter: isSelected ? "" : (model.workers.get(outlier.worker)?.address ?? name) });
      selection.set({ worker: isSelected ? null : outlier.worker });
    });
    const values = FIGURES.map(({ name: figure, text }) => {
      const value = outlier[figure];
      return element("td", "", value === null ? "–" : text(value));
    });
    return element("tr", "", element("td", "", button), ...values);
  }
}
