// What the threads of the task stream did at the instant that the mouse points to on another chart.

import { formatCount } from "../../../formatting.js";
import { leftGutter } from "../../../types.js";
import { Readout } from "../../drawing/readout.js";
import { ERRED_SLOT, SLOT_COLORS } from "../actions.js";
import { busyAt, prefixOfSlot } from "../busy_at.js";

/** @typedef {import("../../../types.js").Tile} Tile */
/** @typedef {import("../../../types.js").View} View */
/** @typedef {import("../../../timeline/model.js").Model} Model */
/** @typedef {import("../../drawing/readout.js").Value} Value */

export class LaneReadout {
  #readout;
  #model;

  /**
   * @param {HTMLElement} parent positioned
   * @param {Model} model
   */
  constructor(parent, model) {
    this.#readout = new Readout(parent);
    this.#model = model;
  }

  hide() {
    this.#readout.hide();
  }

  /**
   * @param {View} view
   * @param {number[]} lanes those in sight
   * @param {Tile[]} tiles
   */
  show({ hover, start, stop, width }, lanes, tiles) {
    if (hover === null || hover < start || hover > stop) return this.hide();
    const pixel = (stop - start) / width;
    const there = lanes.filter((lane) => this.#isThere(lane, hover));
    const { threads, computing, prefixes } = busyAt(there, tiles, this.#model, hover, pixel);
    if (!threads) return this.hide();
    /** @type {Value[]} */
    const values = prefixes.map(([slot, busy]) => this.#value(slot, busy));
    const x = leftGutter() + (hover - start) / pixel;
    const isLeft = hover - start > (stop - start) / 2;
    this.#readout.show(x, 0, isLeft, [
      ["computing", `${formatCount(computing)} of ${threads} threads`],
      ...values,
    ]);
  }

  /**
   * Whether a thread's worker lived at a time.
   * @param {number} lane
   * @param {number} time
   */
  #isThere(lane, time) {
    const worker = this.#model.workerOf(lane);
    return worker !== undefined && worker.started <= time && time < (worker.ended ?? Infinity);
  }

  /**
   * @param {number} slot
   * @param {number} busy threads
   * @returns {Value}
   */
  #value(slot, busy) {
    const id = prefixOfSlot(slot, this.#model);
    if (id !== undefined) return [this.#model.prefixName(id), formatCount(busy), this.#model.color(id)];
    return [slot === ERRED_SLOT ? "erred" : "other prefixes", formatCount(busy), SLOT_COLORS[slot]];
  }
}
