// Memory: of the cluster by kind, and of each worker with its limit.

import { slotLabel } from "../../timeline/slots.js";
import { memoryColors } from "../drawing/palette.js";
import { seriesChart } from "./series_chart.js";
import { thresholdLines } from "./thresholds.js";
import { units } from "./value_axis.js";
import { selectedLayers, workerLayers, workerLines } from "./worker_lines.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("./series_chart.js").Line} Line */

const KINDS = /** @type {const} */ (["managed", "unmanaged", "spilled"]);
const EMPTY = "No worker has reported its memory in this window.";

export const clusterMemory = seriesChart({
  name: "cluster-memory",
  title: "Cluster memory",
  quantity: "cluster-memory",
  layers: ["cluster-memory"],
  help:
    "Memory of all workers: managed by Dask, unmanaged (other memory of the processes), and spilled to disk. " +
    "From the workers' heartbeats (observatory_cluster_memory_bytes).",
  unit: units.bytes,
  stacked: true,
  empty: EMPTY,
  lines: (context) => kinds(context, "cluster-memory", "observatory_cluster_memory_bytes", [null]),
  references: (context, view) => {
    const limits = context.model
      .workersBetween(view.playhead, view.playhead + 1e-3)
      .map((worker) => worker.memory_limit);
    const limit = limits.reduce((sum, one) => sum + one, 0);
    return limit && limits.every(Boolean)
      ? [{ value: limit, label: "limit of all workers", color: "muted" }]
      : [];
  },
});

export const workerMemory = seriesChart({
  name: "memory",
  title: "Memory per worker",
  quantity: "worker-memory",
  layers: workerLayers("memory"),
  help:
    "Memory of each worker's process, with the shares of its limit at which Dask begins to spill results (target: by what they " +
    "are known to have, spill: by the memory of the process), pauses and terminates a worker. " +
    "From the workers' heartbeats (observatory_worker_memory_bytes).",
  unit: units.bytes,
  empty: EMPTY,
  lines: (context, view) =>
    workerLines(context, view, "memory", (series) => series.labels.type === "process"),
  references: ({ model, info }, view) =>
    thresholdLines(model.workersBetween(view.start, view.stop), info.thresholds),
});

export const selectedMemory = seriesChart({
  name: "worker-memory",
  title: "Memory of the selected worker",
  quantity: "worker-memory",
  layers: selectedLayers("memory"),
  help: "Managed, unmanaged and spilled memory of one worker: click a worker anywhere to select it.",
  unit: units.bytes,
  stacked: true,
  ofSelection: true,
  empty: "Click a worker, in the task stream or in a legend, to see its memory by kind.",
  lines: ({ model, selection, ...rest }) => {
    const slot = model.slotOf(selection.worker);
    if (!slot) return [];
    const context = /** @type {Context} */ ({ model, selection, ...rest });
    const lines = kinds(
      context,
      "memory",
      "observatory_worker_memory_bytes",
      model.lifetimesOf(selection.worker),
    );
    return lines.map((line) => ({ ...line, label: `${slotLabel(slot)} ${line.label}` }));
  },
  references: ({ model, selection, info }, view) => {
    const own = model.lifetimesOf(selection.worker);
    const workers = model.workersBetween(view.start, view.stop).filter(({ id }) => own.includes(id));
    return thresholdLines(workers, info.thresholds);
  },
});

/**
 * @param {Context} context
 * @param {string} layer
 * @param {string} metric
 * @param {(number|null)[]} workers in order of time; null: of the cluster
 * @returns {Line[]}
 */
function kinds(context, layer, metric, workers) {
  const all = context.model
    .seriesOf(layer)
    .filter((one) => one.metric === metric && workers.includes(one.worker));
  return KINDS.flatMap((kind) => {
    const series = workers.flatMap(
      (worker) => all.find((one) => one.labels.type === kind && one.worker === worker) ?? [],
    );
    return series.length ? [{ series, label: kind, color: memoryColors[kind], slot: null }] : [];
  });
}
