// The limits of workers' memory, and the shares of them at which Dask spills results, pauses and terminates workers.

import { formatPercent } from "../../formatting.js";

/** @typedef {import("../../types.js").Worker} Worker */
/** @typedef {import("./references.js").Reference} Reference */

const MOST_VALUES = 3; // of workers that differ, by name; more lines would hide what they are compared with
const NAMES = /** @type {const} */ ([
  ["terminate", "danger"],
  ["pause", "warning"],
  ["spill", "muted"],
  ["target", "muted"],
]);

/**
 * The lines of workers, each by its own configuration. Where that isn't known, they are Dask's defaults, and say so.
 * @param {Worker[]} workers
 * @param {import("../../types.js").ClusterInfo["thresholds"]} defaults
 * @returns {Reference[]}
 */
export function thresholdLines(workers, defaults) {
  const limited = workers.filter((worker) => worker.memory_limit);
  if (limited.length < workers.length) return [];
  const limits = distinct(limited.map((worker) => worker.memory_limit));
  /** @type {Reference[]} */
  const lines = limits.map((value) => ({ value, label: "limit", color: "muted" }));
  for (const [name, color] of NAMES) {
    /** @type {Map<number, string>} */
    const labels = new Map();
    for (const worker of limited) {
      const share = (worker.thresholds ?? defaults)[name]; // 0: Dask doesn't do it
      const value = worker.memory_limit * share;
      if (share && !labels.has(value)) {
        labels.set(value, `${name} ${formatPercent(share)}${worker.thresholds ? "" : " by default"}`);
      }
    }
    if (labels.size <= MOST_VALUES) {
      lines.push(...[...labels].map(([value, label]) => ({ value, label, color })));
    }
  }
  return lines;
}

/** @param {number[]} values */
function distinct(values) {
  const found = [...new Set(values)];
  return found.length <= MOST_VALUES ? found : [];
}
