// How people want the task stream's rows: in which order, which of them, and what is unfolded.

import { element } from "../element.js";
import { COMPUTE } from "./actions.js";
import { visitBusy, visitSpans } from "./lane_index.js";

/** @typedef {import("../types.js").View} View */
/** @typedef {import("../types.js").Worker} Worker */
/** @typedef {import("../timeline/model.js").Model} Model */
/** @typedef {import("./lane_rows.js").Arrangement} Arrangement */
/** @typedef {import("./lane_rows.js").Layout} Layout */

const ORDERS = ["name", "busiest", "most memory", "first seen"];
const FEW = 3; // workers that need no arranging
const RANKING = 500; // ms between two looks at who is busiest

/** Fires "change" when the rows are to be laid out anew. */
export class LaneControls extends EventTarget {
  bar;
  #model;
  #order;
  #filter;
  #fold;
  /** @type {Set<string>} */
  #open = new Set();
  /** @type {{at: number, order: string, ranks: Map<number, number>}} */
  #ranked = { at: -Infinity, order: "", ranks: new Map() };

  /** @param {Model} model */
  constructor(model) {
    super();
    this.#model = model;
    this.#order = element("select", "", ...ORDERS.map((order) => element("option", "", order)));
    this.#filter = element("input", "");
    this.#filter.type = "search";
    this.#filter.placeholder = "name, host, status";
    this.#filter.maxLength = 100;
    this.#fold = element("button", "", "Unfold all");
    this.#fold.type = "button";
    const order = element("label", "", "Sort ", this.#order);
    this.bar = element("div", "lane-controls", order, element("label", "", "Workers ", this.#filter), this.#fold);
    this.#order.addEventListener("change", () => this.#changed());
    this.#filter.addEventListener("input", () => this.#changed());
  }

  /**
   * @param {View} view
   * @returns {Arrangement}
   */
  arrangement(view) {
    const order = this.#order.value;
    const ranks = this.#ranks(order, view);
    const rank = order === "name" ? null : (/** @type {Worker} */ worker) => ranks.get(worker.id) ?? 0;
    return { filter: this.#filter.value.trim(), open: this.#open, rank };
  }

  /** @param {Layout} layout what came of the arrangement */
  update(layout) {
    this.bar.hidden = this.#model.workers.size < FEW && !this.#filter.value;
    const folded = layout.groups.filter((group) => group.folds && !group.isOpen);
    const foldable = layout.groups.some((group) => group.folds);
    this.#fold.hidden = !foldable;
    this.#fold.textContent = folded.length ? "Unfold all" : "Fold all";
    this.#fold.onclick = () => {
      if (folded.length) for (const group of folded) this.#open.add(group.folds ?? "");
      else this.#open.clear();
      this.#changed();
    };
  }

  /** @param {string} folds of a group */
  toggle(folds) {
    if (!this.#open.delete(folds)) this.#open.add(folds);
    this.#changed();
  }

  #changed() {
    this.#ranked.at = -Infinity;
    this.dispatchEvent(new Event("change"));
  }

  /**
   * Workers by what they are sorted by, the smallest first. Rows that jump at each frame couldn't be read.
   * @param {string} order
   * @param {View} view
   */
  #ranks(order, view) {
    const now = performance.now();
    if (order === "name" || (this.#ranked.order === order && now - this.#ranked.at < RANKING)) return this.#ranked.ranks;
    /** @type {Map<number, number>} */
    const ranks = new Map();
    for (const worker of this.#model.workers.values()) {
      if (order === "first seen") ranks.set(worker.id, worker.started);
      if (order === "busiest") ranks.set(worker.id, -this.#busySeconds(worker, view));
    }
    if (order === "most memory") {
      for (const worker of view.state?.workers ?? []) ranks.set(worker.id, -(worker.memory ?? 0));
    }
    this.#ranked = { at: now, order, ranks };
    return ranks;
  }

  /**
   * @param {Worker} worker
   * @param {View} view
   */
  #busySeconds(worker, view) {
    let sum = 0;
    for (const tile of view.tiles.spans ?? []) {
      for (const { id } of this.#model.lanesOf(worker.id)) {
        visitSpans(tile, this.#model, id, view.start, view.stop, (block, row, _, from, to) => {
          if (block.numbers("action")[row] === COMPUTE) sum += to - from;
        });
        visitBusy(tile, this.#model, id, view.start, view.stop, (block, row, _, __, ___, seconds) => {
          if (block.numbers("action")[row] === COMPUTE) sum += seconds;
        });
      }
    }
    return sum;
  }
}
