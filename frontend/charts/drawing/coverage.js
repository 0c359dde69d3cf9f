// Seconds per pixel column and colour, from which charts of busy time are drawn.

/** Sums by (slot, column). Slots are small numbers; only the ones used cost anything. */
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
  /** @type {Uint8Array} */
  #used = new Uint8Array(0);

  /**
   * @param {number} start of the window
   * @param {number} stop
   * @param {number} columns
   */
  reset(start, stop, columns) {
    if (columns !== this.columns) this.#sums = [];
    else for (const slot of this.slots) this.#sums[slot].fill(0);
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
    const sums = this.#of(slot);
    const left = (from - this.start) / this.step;
    const right = (to - this.start) / this.step;
    const first = Math.max(0, Math.floor(left));
    const last = Math.min(this.columns - 1, Math.ceil(right) - 1);
    if (last <= first) {
      const inside = Math.min(right, this.columns) - Math.max(left, 0);
      if (first < this.columns && inside > 0) sums[first] += (seconds * inside) / (right - left);
      return;
    }
    const rate = seconds / (right - left);
    for (let column = first; column <= last; column++) {
      sums[column] += rate * (Math.min(right, column + 1) - Math.max(left, column));
    }
  }

  /**
   * The seconds of a slot by column.
   * @param {number} slot one of `slots`
   */
  of(slot) {
    return this.#sums[slot];
  }

  sortSlots() {
    this.slots.sort((one, other) => one - other);
  }

  /** @param {number} slot */
  #of(slot) {
    if (slot >= this.#used.length) {
      const larger = new Uint8Array(slot + 64);
      larger.set(this.#used);
      this.#used = larger;
    }
    if (!this.#used[slot]) {
      this.#used[slot] = 1;
      this.slots.push(slot);
      this.#sums[slot] ??= new Float32Array(this.columns);
    }
    return this.#sums[slot];
  }
}
