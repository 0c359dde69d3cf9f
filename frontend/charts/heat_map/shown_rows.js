// The rows of the heat map that are shown in a window: their values, order and places.

import { heatLayout, rowsAt, topOfRow } from "./heat_layout.js";
import { LINE } from "./heat_painter.js";
import { arranged, chosenGrouping, outstanding, rowValues } from "./heat_rows.js";

/** @typedef {import("./cells.js").Cells} Cells */

const PAGE = 10; // rows that Page Up and Page Down go over

export class ShownRows {
  /** @type {number[]} a value of each row of the cells in the window */
  values;
  grouping;
  /** @type {import("./heat_rows.js").Arrangement} */
  arrangement;
  layout;
  /** @type {number[]} rows that stand out, where a row is too low to be seen */
  named;
  #cells;

  /**
   * @param {Cells} cells
   * @param {boolean} isSum whether the quantity adds up
   * @param {{group: string|null, order: import("./options.js").HeatOrder}} wished
   * @param {{start: number, stop: number}} window
   * @param {{height: number, ratio: number}} room px, and pixels of the screen in one
   */
  constructor(cells, isSum, wished, { start, stop }, room) {
    this.#cells = cells;
    const { slots } = cells.grid;
    const isThere = slots.map(({ lifetimes }) =>
      lifetimes.some(({ started, ended }) => started < stop && (ended ?? Infinity) > start),
    );
    this.values = rowValues(cells, isSum, start, stop);
    this.grouping = chosenGrouping(slots, wished.group);
    const present = slots.flatMap((_, row) => (isThere[row] ? [row] : []));
    const found = arranged(
      present.map((row) => slots[row]),
      present.map((row) => this.values[row]),
      this.grouping,
      wished.order,
    );
    this.arrangement = { ...found, order: found.order.map((place) => present[place]) };
    this.layout = heatLayout(this.arrangement, room.height, room.ratio);
    this.named = this.layout.row < LINE ? outstanding(this.values) : [];
  }

  /** Rows of the cells, from top to bottom. */
  get order() {
    return this.arrangement.order;
  }

  get hasValues() {
    return this.values.some((value) => !Number.isNaN(value));
  }

  /** @param {number} row @returns {number|null} px of its top */
  topOf(row) {
    return topOfRow(this.layout, this.arrangement, row);
  }

  /** @param {number} row that stands out @returns {number} px of where it is drawn */
  topOfNamed(row) {
    return Math.min(this.topOf(row) ?? 0, this.layout.height - LINE);
  }

  /**
   * The row at a place; of several in a line the one with the greatest value there.
   * @param {number} height px below the first row
   * @param {number} column
   * @returns {number|null}
   */
  rowAt(height, column) {
    const rows = rowsAt(this.layout, this.arrangement, height);
    if (!rows.length) return null;
    const named = this.named.findLast((row) => {
      const top = this.topOfNamed(row);
      return height >= top && height < top + LINE;
    });
    if (named !== undefined) return named;
    const { grid, values } = this.#cells;
    const worth = (/** @type {number} */ row) => values[row * grid.columns + column] || 0;
    return rows.reduce((best, row) => (worth(row) > worth(best) ? row : best));
  }

  /**
   * @param {number} row
   * @param {string} key of the keyboard
   * @returns {number|undefined} the row that the key leads to
   */
  next(row, key) {
    const place = this.order.indexOf(row);
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + PAGE,
      PageUp: place - PAGE,
      Home: 0,
      End: this.order.length - 1,
    };
    const next = places[key];
    return next === undefined ? undefined : this.order[Math.min(Math.max(next, 0), this.order.length - 1)];
  }
}
