// The series of semaphores and locks: their leases, by name.

/** @typedef {import("../../types.js").Series} Series */

export const LAYER = "semaphores";
/** What is known of a semaphore, and the end of its metric. @type {Record<"most"|"active"|"pending"|"waited", string>} */
const METRICS = {
  most: "dask_semaphore_max_leases",
  active: "dask_semaphore_active_leases",
  pending: "dask_semaphore_pending_leases",
  waited: "dask_semaphore_average_pending_lease_time_s",
};
const FIGURES = new Map(
  Object.entries(METRICS).map(([figure, metric]) => [metric, /** @type {keyof typeof METRICS} */ (figure)]),
);

/** @typedef {{name: string} & Partial<Record<keyof typeof METRICS, Series>>} Semaphore */

/**
 * @param {{seriesOf: (layer: string) => Series[]}} model
 * @returns {Semaphore[]} in the order in which they were first seen
 */
export function semaphoresOf(model) {
  /** @type {Map<string, Semaphore>} */
  const found = new Map();
  for (const series of model.seriesOf(LAYER)) {
    const figure = FIGURES.get(series.metric);
    const { name } = series.labels;
    if (!figure) continue;
    const semaphore = found.get(name) ?? { name };
    semaphore[figure] = series;
    found.set(name, semaphore);
  }
  return [...found.values()];
}
