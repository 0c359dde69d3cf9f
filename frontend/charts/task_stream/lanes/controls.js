// The controls above the task stream: order and filter of its rows, and which of them are unfolded.

import { element } from "../../../element.js";
import { newest } from "../../../timeline/slots.js";
import { LaneOptions, ORDERS } from "../options.js";
import { COMPUTE } from "../actions.js";
import { visitBusy, visitSpans } from "./index.js";
import { LaneLabels } from "./labels.js";

/** @typedef {import("../../../types.js").Context} Context */
/** @typedef {import("../../../types.js").Tile} Tile */
/** @typedef {import("../../../types.js").View} View */
/** @typedef {import("../options.js").Order} Order */
/** @typedef {import("../../../timeline/slots.js").Slot} Slot */
/** @typedef {import("./rows.js").Wishes} Wishes */
/** @typedef {import("./rows.js").Layout} Layout */

const FEW = 3; // workers that need no arranging
const LOOKING = 500; // ms between two looks at who was at work

/** Fires "change" when something was folded or unfolded. */
export class LaneControls extends EventTarget {
  bar;
  #context;
  #options;
  #order;
  #filter;
  #only;
  #onlyLabel;
  #prefix;
  #fold;
  #label = element("select", "");
  #labelChoice = element("label", "", "Label ", this.#label);
  labels;
  /** @type {Set<string>} */
  #open = new Set();
  #timer = 0;
  /** @type {{at: number, what: string, seconds: Map<number, number>}} */
  #looked = { at: -Infinity, what: "", seconds: new Map() };

  /** @param {Context} context */
  constructor(context) {
    super();
    this.#context = context;
    this.#options = context.features.of(LaneOptions);
    this.labels = new LaneLabels(context);
    this.#label.name = "label";
    const laneOptions = this.#options;
    this.#order = element("select", "", ...ORDERS.map((order) => element("option", "", order)));
    this.#filter = element("input", "");
    this.#filter.type = "search";
    this.#filter.placeholder = "name, host, status";
    this.#filter.maxLength = 100;
    this.#filter.value = laneOptions.filter;
    this.#only = element("input", "");
    this.#only.type = "checkbox";
    this.#fold = element("button", "", "Unfold all");
    this.#fold.type = "button";
    this.#prefix = element("span", "");
    this.#onlyLabel = element("label", "", this.#only, " only those that ran ", this.#prefix);
    const [order, filter] = [
      element("label", "", "Sort ", this.#order),
      element("label", "", "Workers ", this.#filter),
    ];
    this.bar = element("div", "lane-controls", order, filter, this.#labelChoice, this.#onlyLabel, this.#fold);
    this.#order.addEventListener("change", () =>
      laneOptions.set({ order: /** @type {Order} */ (this.#order.value) }),
    );
    this.#filter.addEventListener("input", () => laneOptions.set({ filter: this.#filter.value.trim() }));
    this.#label.addEventListener("change", () => laneOptions.set({ label: this.#label.value || null }));
    this.#only.addEventListener("change", () => laneOptions.set({ onlyPrefix: this.#only.checked }));
  }

  /** In a large cluster, workers in the order in which they joined share bands. */
  get #chosen() {
    const { order } = this.#options;
    const usual = this.#context.model.isLarge ? "first seen" : "name";
    return order === null || (order === "label" && this.labels.chosen === null) ? usual : order;
  }

  /** Whether every worker's tiles have to be there to say which rows there are. */
  get needsAll() {
    return this.#chosen === "busiest" || this.#isOfPrefix;
  }

  /** Whether the state at the playhead says in which order the rows are. */
  get needsState() {
    return this.#chosen === "most memory";
  }

  get #isOfPrefix() {
    return this.#options.onlyPrefix && this.#context.selection.prefix !== null;
  }

  /**
   * @param {View} view
   * @param {Tile[]} tiles of all spans that are there
   * @returns {Wishes}
   */
  wishes(view, tiles) {
    const { filter } = this.#options;
    const busy = this.needsAll ? this.#look(view, tiles) : new Map();
    const keep = this.#isOfPrefix ? (/** @type {Slot} */ slot) => sumOf(slot, busy) > 0 : null;
    return { filter, open: this.#open, rank: this.#rank(view, busy), keep, keepLifetime: this.labels.keep };
  }

  /**
   * @param {View} view
   * @param {Map<number, number>} busy
   * @returns {((slot: Slot) => number)|null}
   */
  #rank(view, busy) {
    const order = this.#chosen;
    if (order === "first seen")
      return ({ key }) => this.#context.model.slots.get(key)?.lifetimes[0].position ?? 0;
    if (order === "label") return (slot) => this.labels.placeOf(newest(slot));
    if (order === "busiest") return (slot) => -sumOf(slot, busy);
    if (order !== "most memory") return null;
    const memory = new Map(view.state?.workers.map((worker) => [worker.id, worker.memory ?? 0]));
    return (slot) => -sumOf(slot, memory);
  }

  /** @param {Layout} layout what came of the wishes */
  update(layout) {
    const { model, selection } = this.#context;
    const laneOptions = this.#options;
    this.#updateLabels();
    this.bar.hidden =
      model.slots.size < FEW && !laneOptions.filter && !laneOptions.onlyPrefix && this.#labelChoice.hidden;
    setValue(this.#order, this.#chosen);
    if (this.#filter.value.trim() !== laneOptions.filter) this.#filter.value = laneOptions.filter;
    this.#only.checked = laneOptions.onlyPrefix;
    this.#onlyLabel.hidden = selection.prefix === null;
    this.#prefix.textContent = selection.prefix === null ? "" : model.prefixName(selection.prefix);
    const folded = layout.groups.filter((group) => group.folds && !group.isOpen);
    const foldable = layout.groups.some((group) => group.folds);
    this.#fold.hidden = !foldable;
    this.#fold.textContent = folded.length ? "Unfold all" : "Fold all";
    this.#fold.onclick = () => {
      if (folded.length) for (const group of folded) this.#open.add(group.folds ?? "");
      else this.#open.clear();
      this.dispatchEvent(new Event("change"));
    };
  }

  #updateLabels() {
    const { names, chosen } = this.labels;
    const options = ["", ...names];
    const isSame =
      options.length === this.#label.options.length &&
      options.every((name, place) => name === this.#label.options[place].value);
    if (!isSame) this.#label.replaceChildren(...options.map((name) => new Option(name || "none", name)));
    setValue(this.#label, chosen ?? "");
    this.#labelChoice.hidden = !names.length;
    for (const option of this.#order.options)
      if (option.value === "label") option.hidden = option.disabled = chosen === null;
    this.labels.drawLegend();
  }

  #lookAgain() {
    this.#timer = 0;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string} folds of a group */
  toggle(folds) {
    if (!this.#open.delete(folds)) this.#open.add(folds);
    this.dispatchEvent(new Event("change"));
  }

  /**
   * For how many seconds each worker computed (the selected prefix). Rows that jump at each frame couldn't be read.
   * @param {View} view
   * @param {Tile[]} tiles
   * @returns {Map<number, number>}
   */
  #look(view, tiles) {
    const now = performance.now();
    const prefix = this.#isOfPrefix ? this.#context.selection.prefix : null;
    const what = `${prefix} ${tiles.map(({ layer, level, index }) => [layer, level, index])}`;
    if (this.#looked.what === what && now - this.#looked.at < LOOKING) {
      this.#timer ||= window.setTimeout(() => this.#lookAgain(), LOOKING);
      return this.#looked.seconds;
    }
    const { model } = this.#context;
    /** @type {Map<number, number>} */
    const seconds = new Map();
    for (const { id, worker } of model.lanes.values()) {
      const add = (
        /** @type {import("../../../types.js").Block} */ block,
        /** @type {number} */ row,
        /** @type {number} */ busy,
      ) => {
        const isMeant =
          prefix === null
            ? block.numbers("action")[row] === COMPUTE
            : block.numbers("prefix")[row] === prefix;
        if (isMeant) seconds.set(worker, (seconds.get(worker) ?? 0) + busy);
      };
      for (const tile of tiles) {
        visitSpans(tile, model, id, view.start, view.stop, (block, row, _, from, to) =>
          add(block, row, to - from),
        );
        visitBusy(tile, model, id, view.start, view.stop, (block, row, _, __, ___, busy) =>
          add(block, row, busy),
        );
      }
    }
    this.#looked = { at: now, what, seconds };
    return seconds;
  }
}

/**
 * Selects a value where another one is: the browser works out styles whenever it is set.
 * @param {HTMLSelectElement} select
 * @param {string} value
 */
function setValue(select, value) {
  if (select.value !== value) select.value = value;
}

/**
 * @param {Slot} slot
 * @param {Map<number, number>} values by lifetime
 */
function sumOf({ lifetimes }, values) {
  return lifetimes.reduce((sum, { id }) => sum + (values.get(id) ?? 0), 0);
}
