// The GPUs of the workers: memory, how busy they are, power, temperature, and the memory that RAPIDS manages.

import { formatAmount } from "../../amounts.js";
import { formatBytes } from "../../formatting.js";
import { pointsOf } from "./series_points.js";
import { seriesChart } from "./series_chart.js";
import { units } from "./value_axis.js";
import { haveLines, workerLayers, workerLines } from "./worker_lines.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./references.js").Reference} Reference */

const LAYER = "gpu";
const [MEMORY, UTILIZATION, POWER, TEMPERATURE, SPILLED, RMM] = [
  "gpu_memory_bytes",
  "gpu_utilization_percent",
  "gpu_power_watts",
  "gpu_temperature_celsius",
  "gpu_spilled_bytes",
  "rmm_memory_bytes",
].map((name) => `observatory_worker_${name}`);
const SOURCE = "The agent reads it of all GPUs that a worker may use, where pynvml is installed";
const STOCK = `${SOURCE}; without the agent, it is that of the worker's first GPU`;
const MOST_REFERENCES = 3; // kinds of GPUs

export const gpuMemory = seriesChart({
  name: "gpu-memory",
  title: "GPU memory",
  ...drawing(MEMORY, "used"),
  quantity: "gpu-memory",
  help: `Memory in use on each GPU of a worker, and all that it has, dashed; of a part of a GPU (MIG) its own. ${STOCK} (${MEMORY}).`,
  unit: units.bytes,
  empty: "No worker has reported the memory of its GPU in this window.",
  references: ends(MEMORY, "total", (value) => `${formatBytes(value)} of a GPU`),
});

export const gpuUtilization = seriesChart({
  name: "gpu-utilization",
  title: "GPU utilization",
  ...drawing(UTILIZATION),
  help: `Share of time in which each GPU of a worker was busy, however little of it. A GPU in MIG mode doesn't tell. ${STOCK} (${UTILIZATION}).`,
  unit: units.percent,
  empty: "No worker has reported how busy its GPU is in this window.",
});

export const gpuPower = seriesChart({
  name: "gpu-power",
  title: "GPU power",
  ...drawing(POWER, "used"),
  help: `Power that each GPU of a worker uses, all of its parts together, and the limit that is enforced, dashed. ${SOURCE} (${POWER}).`,
  unit: units.watts,
  empty: "No worker has reported the power of its GPU in this window. The agent reports it (docs/gpu.md).",
  references: ends(POWER, "limit", (value) => `limit ${formatAmount(value, "watts")}`),
});

export const gpuTemperature = seriesChart({
  name: "gpu-temperature",
  title: "GPU temperature",
  ...drawing(TEMPERATURE),
  quantity: "gpu-temperature",
  help: `Temperature of each GPU of a worker. ${SOURCE} (${TEMPERATURE}).`,
  unit: units.celsius,
  empty:
    "No worker has reported the temperature of its GPU in this window. The agent reports it (docs/gpu.md).",
});

export const gpuSpilled = seriesChart({
  name: "gpu-spilled",
  title: "Moved from GPU to host",
  ...drawing(SPILLED),
  help: `Data that cuDF's spilling or dask-cuda (--device-memory-limit) moved from a worker's GPU to its host's memory (${SPILLED}).`,
  unit: units.bytes,
  empty: "No worker has reported data that it moved from its GPU in this window.",
});

export const rmmMemory = seriesChart({
  name: "rmm-memory",
  title: "RMM memory",
  ...drawing(RMM, "used"),
  help: `GPU memory that RMM, RAPIDS' memory manager, has allocated on each worker, and its pool, dashed. From the workers' heartbeats, where rmm is installed (${RMM}).`,
  unit: units.bytes,
  empty: "No worker has reported its memory of RMM in this window.",
  references: ends(RMM, "total", (value) => `pool of ${formatBytes(value)}`),
});

/**
 * What all of these charts have.
 * @param {string} metric
 * @param {string} [kind] the value of its label `type`
 */
function drawing(metric, kind) {
  const isWanted = (/** @type {Series} */ one) =>
    one.metric === metric && (!kind || one.labels.type === kind);
  return {
    layers: workerLayers(LAYER),
    isThere: (/** @type {Context} */ { model }) => model.seriesOf(LAYER).some(isWanted),
    lines: (/** @type {Context} */ context, /** @type {View} */ view) =>
      workerLines(context, view, LAYER, isWanted),
  };
}

/**
 * What there is at most, such as all memory: the greatest values of the series of a kind, each different one once.
 * @param {string} metric
 * @param {string} kind
 * @param {(value: number) => string} label
 * @returns {(context: Context, view: View) => Reference[]}
 */
function ends(metric, kind, label) {
  return (context, view) => {
    if (!haveLines(context, view)) return [];
    const series = context.model
      .seriesOf(LAYER)
      .filter((one) => one.metric === metric && one.labels.type === kind);
    const tiles = workerLayers(LAYER)(context).flatMap((layer) => view.tiles[layer] ?? []);
    const points = pointsOf(tiles, new Map(series.map((one) => [one.id, one])), []);
    const values = new Set([...points.values()].map(({ max }) => max[max.length - 1]));
    return [...values]
      .filter(Boolean)
      .sort((one, other) => other - one)
      .slice(0, MOST_REFERENCES)
      .map((value) => ({ value, label: label(value), color: "muted" }));
  };
}
