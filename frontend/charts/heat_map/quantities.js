// The quantities of workers that the heat map shows.

import { formatCount } from "../../formatting.js";
import { ticks, units } from "../series/value_axis.js";

/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("./options.js").QuantityName} QuantityName */
/** @typedef {import("../series/value_axis.js").Unit} Unit */

/**
 * `layer` has its data; `chosen` are the series of it that have the values of workers, which `factor` multiplies.
 * `isSum`: values add up over time. `most` is the greatest value that has a colour of its own.
 * @typedef {{label: string, unit: Unit, layer: string, empty: string, factor: number, isSum: boolean, most: number,
 *   least: number, chosen: (series: Series[]) => Series[]}} Quantity
 */

const GPU_UTILIZATION = "observatory_worker_gpu_utilization_percent";
const CONTENDED = "dask_worker_gil_contention_seconds_total";
const NONE = { chosen: () => [], factor: 1, isSum: false, most: Infinity, least: 0 };

/** @type {Unit} */
const times = { name: "× median of the prefix", write: (value) => `${value.toFixed(2)} ×`, base: 10 };

/** @type {Record<QuantityName, Quantity>} */
export const QUANTITIES = {
  memory: {
    ...NONE,
    label: "memory",
    unit: units.bytes,
    layer: "memory",
    empty: "No worker has reported its memory in this window.",
    chosen: (series) => series.filter(({ worker, labels }) => worker !== null && labels.type === "process"),
  },
  cpu: {
    ...NONE,
    label: "CPU",
    unit: units.percent,
    layer: "cpu",
    empty: "No worker has reported its CPU in this window.",
    chosen: (series) => series.filter(({ worker }) => worker !== null),
  },
  gil: {
    ...NONE,
    label: "GIL contention",
    unit: units.percent,
    layer: "gil",
    factor: 100,
    empty: "There is no data on the GIL in this window. To record it, install `gilknocker` on the workers.",
    chosen: (series) => {
      const counted = new Set(
        series.filter(({ metric }) => metric === CONTENDED).map(({ worker }) => worker),
      );
      return series.filter(
        ({ worker, metric }) => worker !== null && (metric === CONTENDED || !counted.has(worker)),
      );
    },
  },
  gpu: {
    ...NONE,
    label: "GPU utilization",
    unit: units.percent,
    layer: "gpu",
    empty: "No worker has reported how busy its GPU is in this window.",
    chosen: (series) => series.filter(({ worker, metric }) => worker !== null && metric === GPU_UTILIZATION),
  },
  busy: {
    ...NONE,
    label: "busy threads",
    unit: units.percent,
    layer: "spans",
    least: 100,
    empty: "There were no workers in this window.",
  },
  duration: {
    ...NONE,
    label: "task duration",
    unit: times,
    layer: "spans",
    most: 5,
    least: 2,
    empty: "No task computed in this window.",
  },
  errors: {
    ...NONE,
    label: "erred tasks",
    unit: {
      ...units.count,
      name: "tasks",
      write: (value) => (Number.isInteger(value) ? formatCount(value) : value.toFixed(2)),
    },
    layer: "spans",
    isSum: true,
    empty: "There were no workers in this window.",
  },
};

/**
 * The value of the strongest colour.
 * @param {Quantity} quantity
 * @param {number} peak the greatest value
 */
export function topOf({ unit, most, least }, peak) {
  const marks = ticks(Math.max(Math.min(peak, most), least), unit);
  return Math.min(marks[marks.length - 1], most);
}
