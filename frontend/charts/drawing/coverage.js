// Seconds per pixel column and colour, from which charts of busy time are drawn.

/** Sums by (slot, column). Slots are small numbers; only the slots and columns that have any time cost anything. */
export class Coverage {
  columns = 0;
  start = 0;
  /** seconds a column */
  step = 1;
  /** slots with any time, ascending once sorted */
  /** @type {number[]} */
  slots = [];
  /** @type {Float32Array[]} by slot */
  #sums = [];
  /** @type {number[][]} by slot: columns with any time */
  #filled = [];
  /** @type {Uint8Array} */
  #used = new Uint8Array(0);

  /**
   * @param {number} start of the window
   * @param {number} stop
   * @param {number} columns
   */
  reset(start, stop, columns) {
    for (const slot of this.slots) {
      for (const column of this.#filled[slot]) this.#sums[slot][column] = 0;
      this.#filled[slot].length = 0;
    }
    if (columns !== this.columns) this.#sums = [];
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
   * The columns in which a slot has any time, in no order.
   * @param {number} slot one of `slots`
   */
  columnsOf(slot) {
    return this.#filled[slot];
  }

  /**
   * @param {number} slot one of `slots`
   * @param {number} column
   */
  seconds(slot, column) {
    return this.#sums[slot][column];
  }

  sortSlots() {
    this.slots.sort((one, other) => one - other);
  }

  /**
   * @param {number} slot
   * @param {number} column
   * @param {number} seconds
   */
  #fill(slot, column, seconds) {
    if (!(seconds > 0)) return;
    const sums = this.#sums[slot];
    if (sums[column] === 0) this.#filled[slot].push(column);
    sums[column] += seconds;
  }

  /** @param {number} slot */
  #use(slot) {
    if (slot >= this.#used.length) {
      const larger = new Uint8Array(slot + 64);
      larger.set(this.#used);
      this.#used = larger;
    }
    if (this.#used[slot]) return;
    this.#used[slot] = 1;
    this.slots.push(slot);
    this.#sums[slot] ??= new Float32Array(this.columns);
    this.#filled[slot] ??= [];
  }
}
