// Seconds per pixel column and colour, from which charts of busy time are drawn.

const SHIFT = 5;
const CHUNK = 1 << SHIFT; // columns: with thousands of slots, most of each slot's columns are empty

/** Sums by (slot, column). Slots are small numbers; only the slots and columns that have any time cost anything. */
export class Coverage {
  columns = 0;
  start = 0;
  /** seconds a column */
  step = 1;
  /** slots with any time, ascending once sorted */
  /** @type {number[]} */
  slots = [];
  /** seconds in chunks of columns, one after the other; the first is not used */
  sums = new Float32Array(64 * CHUNK);
  /** where the next chunk begins */
  #end = CHUNK;
  /** by slot and chunk of columns: where its sums begin; 0: it has none */
  #places = new Int32Array(0);
  /** chunks a slot */
  #chunks = 0;
  /** @type {number[][]} by slot: columns with any time */
  #filled = [];
  /** @type {number[][]} by slot: where the sums of these columns are */
  #filledPlaces = [];
  /** @type {Uint8Array} */
  #used = new Uint8Array(0);

  /**
   * @param {number} start of the window
   * @param {number} stop
   * @param {number} columns
   */
  reset(start, stop, columns) {
    for (const slot of this.slots) this.#filled[slot].length = this.#filledPlaces[slot].length = 0;
    this.#places.fill(0);
    this.sums.fill(0, 0, this.#end);
    this.#end = CHUNK;
    if (columns !== this.columns) {
      this.#chunks = Math.ceil(columns / CHUNK);
      this.#places = new Int32Array(this.#used.length * this.#chunks);
    }
    this.#used.fill(0);
    this.slots = [];
    this.columns = columns;
    this.start = start;
    this.step = (stop - start) / columns;
  }

  /**
   * Spreads `seconds` evenly over [from, to), as far as that lies in the window.
   * @param {number} slot
   * @param {number} from
   * @param {number} to
   * @param {number} seconds
   */
  add(slot, from, to, seconds) {
    this.#use(slot);
    const left = (from - this.start) / this.step;
    const right = (to - this.start) / this.step;
    const first = Math.max(0, Math.floor(left));
    const last = Math.min(this.columns - 1, Math.ceil(right) - 1);
    if (last <= first) {
      const inside = Math.min(right, this.columns) - Math.max(left, 0);
      if (first < this.columns && inside > 0) this.#fill(slot, first, (seconds * inside) / (right - left));
      return;
    }
    const rate = seconds / (right - left);
    for (let column = first; column <= last; column++) {
      this.#fill(slot, column, rate * (Math.min(right, column + 1) - Math.max(left, column)));
    }
  }

  /**
   * Spreads the seconds of many bins evenly over these, as far as they lie in [low, high) and in the window. One loop
   * without calls, as a browser runs it uncompiled on a page that was just opened.
   * @param {{slots: Uint16Array, rows: Uint32Array, bins: import("../../types.js").Numbers, seconds: import("../../types.js").Numbers}} block
   *   `rows`: those to add, by their places in the columns; `slots` is by row
   * @param {{origin: number, width: number, low: number, high: number}} place where bin 0 begins, and how wide a bin is
   */
  addBins({ slots, rows, bins, seconds }, { origin, width, low, high }) {
    const { start, step, columns } = this;
    for (const row of rows) {
      const begin = origin + bins[row] * width;
      const from = begin > low ? begin : low;
      const to = begin + width < high ? begin + width : high;
      const whole = seconds[row];
      if (from >= to || !(whole > 0)) continue;
      const slot = slots[row];
      if (!this.#used[slot]) this.#use(slot);
      const rate = (whole / width) * step; // seconds a column that it fills
      const left = (from - start) / step;
      const right = (to - start) / step;
      for (let column = left > 0 ? left | 0 : 0; column < right && column < columns; column++) {
        const inside = (right < column + 1 ? right : column + 1) - (left > column ? left : column);
        if (!(inside > 0)) continue;
        const chunk = this.#places[slot * this.#chunks + (column >> SHIFT)];
        const place = chunk + (column & (CHUNK - 1));
        if (chunk === 0 || this.sums[place] === 0) this.#fill(slot, column, rate * inside);
        else this.sums[place] += rate * inside;
      }
    }
  }

  /**
   * The columns in which a slot has any time, in no order.
   * @param {number} slot one of `slots`
   */
  columnsOf(slot) {
    return this.#filled[slot];
  }

  /**
   * Where `sums` has the seconds of these columns.
   * @param {number} slot one of `slots`
   */
  placesOf(slot) {
    return this.#filledPlaces[slot];
  }

  sortSlots() {
    this.slots = [...Uint32Array.from(this.slots).sort()]; // thousands: by numbers, without calls
  }

  /**
   * @param {number} slot
   * @param {number} column
   * @param {number} seconds
   */
  #fill(slot, column, seconds) {
    if (!(seconds > 0)) return;
    const chunk = slot * this.#chunks + (column >> SHIFT);
    if (this.#places[chunk] === 0) this.#places[chunk] = this.#newChunk();
    const place = this.#places[chunk] + (column & (CHUNK - 1));
    if (this.sums[place] === 0) {
      this.#filled[slot].push(column);
      this.#filledPlaces[slot].push(place);
    }
    this.sums[place] += seconds;
  }

  /** Where a chunk of sums begins that are 0. */
  #newChunk() {
    const place = this.#end;
    this.#end += CHUNK;
    if (this.#end > this.sums.length) {
      const larger = new Float32Array(2 * this.sums.length);
      larger.set(this.sums);
      this.sums = larger;
    }
    return place;
  }

  /** @param {number} slot */
  #use(slot) {
    if (slot >= this.#used.length) {
      const used = new Uint8Array(2 * slot + 64);
      used.set(this.#used);
      this.#used = used;
      const places = new Int32Array(used.length * this.#chunks);
      places.set(this.#places);
      this.#places = places;
    }
    if (this.#used[slot]) return;
    this.#used[slot] = 1;
    this.slots.push(slot);
    this.#filled[slot] ??= [];
    this.#filledPlaces[slot] ??= [];
  }
}
