// The runs whose memory is drawn together, and which memory.

import { parseIds } from "../../timeline/id_ranges.js";

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

  /** @param {URLSearchParams} parameters */
  readFrom(parameters) {
    const runs = parameters.get("runs");
    this.set({
      runs: runs === null ? null : parseIds(runs, MOST_RUNS),
      measure: MEMORY_MEASURES.find((measure) => measure === parameters.get("measure")) ?? MEMORY_MEASURES[0],
    });
  }

  /** @param {URLSearchParams} parameters */
  writeTo(parameters) {
    if (this.runs) parameters.set("runs", this.runs.join(","));
    if (this.measure !== MEMORY_MEASURES[0]) parameters.set("measure", this.measure);
  }
}
