// The runs whose memory is drawn together, and which memory.

export const MOST_RUNS = 8;
export const MEMORY_MEASURES = /** @type {const} */ (["process", "managed", "unmanaged", "spilled"]);

/** @typedef {typeof MEMORY_MEASURES[number]} MemoryMeasure */

/** Fires "change". */
export class RunOptions extends EventTarget {
  /** @type {number[]|null} ids, at most MOST_RUNS; null: those that suit the page */
  runs = null;
  /** @type {MemoryMeasure} */
  measure = MEMORY_MEASURES[0];

  /** @param {{runs?: number[]|null, measure?: MemoryMeasure}} part; what isn't given stays as it is */
  set(part) {
    const { runs = this.runs, measure = this.measure } = part;
    const isSame = runs?.join() === this.runs?.join() && (runs === null) === (this.runs === null);
    if (isSame && measure === this.measure) return;
    this.runs = runs && runs.slice(0, MOST_RUNS);
    this.measure = measure;
    this.dispatchEvent(new Event("change"));
  }
}
