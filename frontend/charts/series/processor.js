// CPU, GIL contention and event loops of the workers and the scheduler.

import { theme } from "../drawing/theme.js";
import { seriesChart } from "./series_chart.js";
import { units } from "./value_axis.js";
import { haveLines, together, workerLayers, workerLines } from "./worker_lines.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./series_chart.js").Line} Line */

export const cpu = seriesChart({
  name: "cpu",
  title: "CPU",
  quantity: "worker-cpu",
  layers: workerLayers("cpu"),
  help: "CPU of each worker's process: 100 % is one core. From the workers' heartbeats (observatory_worker_cpu_percent).",
  unit: units.percent,
  empty: "No worker has reported its CPU in this window.",
  lines: (context, view) => workerLines(context, view, "cpu", () => true),
  references: (context, view) => {
    const threads = new Set(
      context.model.workersBetween(view.start, view.stop).map((worker) => worker.nthreads),
    );
    const [count] = threads;
    return threads.size === 1 ? [{ value: count * 100, label: `${count} threads`, color: "muted" }] : [];
  },
});

export const gil = seriesChart({
  name: "gil",
  title: "GIL contention",
  quantity: "worker-gil",
  layers: layersWithScheduler("gil"),
  help:
    "Share of time in which Python's global interpreter lock was contended, by worker and for the scheduler. From the " +
    "counters dask_worker_gil_contention_seconds_total and dask_scheduler_gil_contention_seconds_total as rates, or, where those " +
    "are missing, from the workers' heartbeats and observatory_scheduler_gil_contention_ratio.",
  unit: units.percent,
  empty:
    "There is no data on the GIL in this window. To record it, install `gilknocker` on the scheduler and the workers " +
    "(distributed.admin.system-monitor.gil.enabled is on by default).",
  lines: (context, view) => {
    const series = context.model.seriesOf("gil");
    const has = new Set(
      series
        .filter((one) => one.metric === "dask_worker_gil_contention_seconds_total")
        .map((one) => one.worker),
    );
    const workers = workerLines(
      context,
      view,
      "gil",
      (one) => one.metric === "dask_worker_gil_contention_seconds_total" || !has.has(one.worker),
      100,
    );
    return [
      ...workers,
      ...scheduler(
        context,
        view,
        "gil",
        ["dask_scheduler_gil_contention_seconds_total", "observatory_scheduler_gil_contention_ratio"],
        100,
      ),
    ];
  },
});

export const eventLoop = seriesChart({
  name: "event-loop",
  title: "Event loop",
  quantity: "worker-event-loop",
  layers: layersWithScheduler("event-loop"),
  help:
    "How long the event loops of the workers (observatory_worker_event_loop_interval_seconds) and of the scheduler " +
    "took for an iteration: its longest (dask_scheduler_tick_duration_maximum_seconds), or the mean where that was not read " +
    "(observatory_scheduler_event_loop_interval_seconds). When it is long, they respond late.",
  unit: units.seconds,
  empty: "There is no data on the event loops in this window.",
  lines: (context, view) => [
    ...workerLines(
      context,
      view,
      "event-loop",
      (one) => one.metric === "observatory_worker_event_loop_interval_seconds",
    ),
    ...scheduler(
      context,
      view,
      "event-loop",
      ["dask_scheduler_tick_duration_maximum_seconds", "observatory_scheduler_event_loop_interval_seconds"],
      1,
    ),
  ],
});

/**
 * @param {string} layer
 * @returns {(context: Context) => string[]} with the first band, which has the series of the scheduler
 */
function layersWithScheduler(layer) {
  return (context) => {
    const layers = workerLayers(layer)(context);
    return haveLines(context, context.timeline) && !layers.includes(layer) ? [layer, ...layers] : layers;
  };
}

/**
 * @param {Context} context
 * @param {import("../../types.js").View} view
 * @param {string} layer
 * @param {string[]} metrics the first one that was recorded is shown
 * @param {number} scale
 * @returns {Line[]}
 */
function scheduler(context, view, layer, metrics, scale) {
  const recorded = context.model.seriesOf(layer);
  const series = metrics.flatMap((metric) => recorded.find((one) => one.metric === metric) ?? [])[0];
  if (!series) return [];
  const shown = haveLines(context, view) ? series : together(series);
  return [{ series: [shown], label: "scheduler", color: theme().text, slot: null, scale }];
}
