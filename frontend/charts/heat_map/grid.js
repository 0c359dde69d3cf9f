// The grid of the heat map: columns of time, a row for each worker.

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Worker} Worker */
/** @typedef {import("../../timeline/slots.js").Slot} Slot */

export class Grid {
  /** @type {Map<number, number>} row by worker */
  #rows = new Map();

  /**
   * @param {Tile[]} tiles
   * @param {number} step seconds
   * @param {Slot[]} slots one for each row
   */
  constructor(tiles, step, slots) {
    this.step = step;
    this.slots = slots;
    this.first = Math.floor(Math.min(...tiles.map(({ start }) => start)) / step + 1e-6);
    if (!tiles.length) this.first = 0;
    const last = Math.ceil(Math.max(...tiles.map(({ stop }) => stop)) / step - 1e-6);
    this.columns = tiles.length ? last - this.first : 0;
    slots.forEach(({ lifetimes }, row) => lifetimes.forEach(({ id }) => this.#rows.set(id, row)));
    this.covered = new Uint8Array(this.columns);
    for (const { start, stop } of tiles) this.each(start, stop, (column) => (this.covered[column] = 1));
  }

  /** @param {number} worker @returns {number} -1 for one without a row */
  rowOf(worker) {
    return this.#rows.get(worker) ?? -1;
  }

  /** @param {number} column @returns {number} seconds */
  startOf(column) {
    return (this.first + column) * this.step;
  }

  /** @param {number} time @returns {number} can lie outside */
  columnAt(time) {
    return Math.floor(time / this.step + 1e-9) - this.first;
  }

  /**
   * Calls `visit` for the columns that overlap [from, to), with the share of that time that lies in each.
   * @param {number} from
   * @param {number} to
   * @param {(column: number, share: number) => void} visit
   */
  each(from, to, visit) {
    const first = Math.max(this.columnAt(from), 0);
    const last = Math.min(Math.max(this.columnAt(to - 1e-6), first), this.columns - 1);
    if (first === last) return visit(first, 1);
    for (let column = first; column <= last; column++) {
      const start = this.startOf(column);
      const overlap = Math.min(to, start + this.step) - Math.max(from, start);
      if (overlap > 0) visit(column, overlap / (to - from));
    }
  }

  /** @returns {Float64Array} a number for each cell */
  numbers() {
    return new Float64Array(this.slots.length * this.columns);
  }
}

/**
 * How long threads of a worker were there in [from, to), in seconds.
 * @param {Worker[]} lifetimes
 * @param {number} from
 * @param {number} to
 */
export function threadSeconds(lifetimes, from, to) {
  let seconds = 0;
  for (const { started, ended, nthreads } of lifetimes) {
    seconds += Math.max(0, Math.min(ended ?? Infinity, to) - Math.max(started, from)) * Math.max(nthreads, 1);
  }
  return seconds;
}
