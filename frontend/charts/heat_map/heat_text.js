// What a heat map says of its cells: tooltip, readout and description.

import { HOST } from "../../timeline/labels.js";
import { slotLabel } from "../../timeline/slots.js";
import { NO_GROUPS, groupOf, hostOf } from "./heat_rows.js";

/** @typedef {import("./quantities.js").Quantity} Quantity */
/** @typedef {import("../../timeline/slots.js").Slot} Slot */

/** The values of a column. */
export class CellText {
  #cells;
  #quantiles;
  #quantity;
  #column;

  /**
   * @param {import("./cells.js").Cells} cells
   * @param {import("./quantiles.js").Quantiles} quantiles
   * @param {Quantity} quantity
   * @param {number|null} column null: outside of what was recorded
   */
  constructor(cells, quantiles, quantity, column) {
    this.#cells = cells;
    this.#quantiles = quantiles;
    this.#quantity = quantity;
    this.#column = column;
  }

  /**
   * Of all workers, and of the selected one; none where nothing was measured.
   * @param {number} chosen row; -1: none
   * @returns {[string, string][]}
   */
  ofAll(chosen) {
    const all = this.#all;
    if (!all) return [];
    const own = chosen < 0 ? [] : [[slotLabel(this.#cells.grid.slots[chosen]), this.#value(chosen)]];
    const range = `${all.middle} (${all.low} – ${all.high})`;
    return /** @type {[string, string][]} */ ([...own, ["median, 5 % to 95 %", range]]);
  }

  /**
   * Of a row and of all workers.
   * @param {number|null} row
   * @param {string} grouping
   * @param {number} inWindow the row's value in the window
   * @param {import("../../timeline/model.js").Model} model
   * @returns {[string, string][]}
   */
  ofRow(row, grouping, inWindow, model) {
    const all = this.#all;
    return [
      ...(row === null ? [] : this.#ofRow(row, grouping, inWindow, model)),
      ...(all
        ? /** @type {[string, string][]} */ ([
            ["all: median", all.middle],
            ["all: 5 % to 95 %", `${all.low} – ${all.high}`],
          ])
        : []),
    ];
  }

  /**
   * @param {number} row
   * @param {string} grouping
   * @param {number} inWindow
   * @param {import("../../timeline/model.js").Model} model
   * @returns {[string, string][]}
   */
  #ofRow(row, grouping, inWindow, model) {
    const { grid, prefixes } = this.#cells;
    const slot = grid.slots[row];
    /** @type {[string, string][]} */
    const lines = [["host", hostOf(slot)]];
    if (grouping !== NO_GROUPS && grouping !== HOST) lines.push([grouping, groupOf(slot, grouping)]);
    if (this.#column !== null) {
      lines.push([this.#quantity.label, this.#value(row)]);
      const prefix = prefixes?.[row * grid.columns + this.#column];
      if (prefix) lines.push(["prefix", model.prefixName(prefix)]);
    }
    lines.push(["in the window", write(inWindow, this.#quantity.unit)]);
    return lines;
  }

  /** The quantiles of all workers; null where nothing was measured. */
  get #all() {
    if (this.#column === null || Number.isNaN(this.#quantiles.middle[this.#column])) return null;
    const column = this.#column;
    const { low, middle, high } = this.#quantiles;
    const { unit } = this.#quantity;
    return {
      low: write(low[column], unit),
      middle: write(middle[column], unit),
      high: write(high[column], unit),
    };
  }

  /** @param {number} row */
  #value(row) {
    const { grid, values } = this.#cells;
    const column = this.#column ?? NaN;
    return write(values[row * grid.columns + column], this.#quantity.unit);
  }
}

/**
 * @param {number} value
 * @param {Quantity["unit"]} unit
 */
export function write(value, unit) {
  return Number.isNaN(value) ? "unknown" : unit.write(value);
}

/**
 * The worker with the greatest value, for those who can't see the chart; "" where nothing was measured.
 * @param {Slot[]} slots
 * @param {number[]} order rows that are shown
 * @param {number[]} values by row
 * @param {Quantity["unit"]} unit
 */
export function describeMost(slots, order, values, unit) {
  const known = order.filter((row) => !Number.isNaN(values[row]));
  if (!known.length) return "";
  const most = known.reduce((best, row) => (values[row] > values[best] ? row : best));
  return `; most: ${slotLabel(slots[most])}, ${unit.write(values[most])}`;
}
