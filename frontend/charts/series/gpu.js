// The GPUs of the workers: their memory, how busy they are, and the memory that RMM manages.

import { seriesChart } from "./series_chart.js";
import { units } from "./value_axis.js";
import { workerLayers, workerLines } from "./worker_lines.js";

/** @typedef {import("../../types.js").Context} Context */

const LAYER = "gpu";
const SOURCE = "From the workers' heartbeats, where pynvml is installed beside a GPU";

/** @param {string} metric */
const reported =
  (metric) =>
  (/** @type {Context} */ { model }) =>
    model.seriesOf(LAYER).some((one) => one.metric === metric);

export const gpuMemory = seriesChart({
  name: "gpu-memory",
  title: "GPU memory",
  layers: workerLayers(LAYER),
  help: `Memory in use on each worker's GPU. ${SOURCE} (observatory_worker_gpu_memory_bytes).`,
  unit: units.bytes,
  empty: "No worker has reported the memory of its GPU in this window.",
  isThere: reported("observatory_worker_gpu_memory_bytes"),
  lines: (context, view) => workerLines(context, view, LAYER, isUsed("observatory_worker_gpu_memory_bytes")),
});

export const gpuUtilization = seriesChart({
  name: "gpu-utilization",
  title: "GPU utilization",
  layers: workerLayers(LAYER),
  help: `Share of time in which each worker's GPU was busy. ${SOURCE} (observatory_worker_gpu_utilization_percent).`,
  unit: units.percent,
  empty: "No worker has reported how busy its GPU is in this window.",
  isThere: reported("observatory_worker_gpu_utilization_percent"),
  lines: (context, view) =>
    workerLines(
      context,
      view,
      LAYER,
      ({ metric }) => metric === "observatory_worker_gpu_utilization_percent",
    ),
});

export const rmmMemory = seriesChart({
  name: "rmm-memory",
  title: "RMM memory",
  layers: workerLayers(LAYER),
  help: "GPU memory that RMM, RAPIDS' memory manager, has allocated on each worker. From the workers' heartbeats, where rmm is installed (observatory_worker_rmm_memory_bytes).",
  unit: units.bytes,
  empty: "No worker has reported its memory of RMM in this window.",
  isThere: reported("observatory_worker_rmm_memory_bytes"),
  lines: (context, view) => workerLines(context, view, LAYER, isUsed("observatory_worker_rmm_memory_bytes")),
});

/** @param {string} metric */
function isUsed(metric) {
  return (/** @type {import("../../types.js").Series} */ one) =>
    one.metric === metric && one.labels.type === "used";
}
