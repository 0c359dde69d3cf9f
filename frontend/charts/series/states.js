// Tasks by state, and the size of the cluster, over time.

import { seriesChart } from "./series_chart.js";
import { stateColors } from "../drawing/palette.js";
import { theme } from "../drawing/theme.js";
import { units } from "./value_axis.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("./series_chart.js").Line} Line */

export const states = seriesChart({
  name: "states",
  title: "Tasks by state",
  quantity: "tasks-queued",
  layers: ["states"],
  help:
    "Tasks that the scheduler knows, by their state, from /json/counts.json (observatory_cluster_tasks); queued ones " +
    "from dask_scheduler_tasks, which needs `prometheus_client` on the scheduler.",
  unit: units.count,
  stacked: true,
  empty: "The scheduler's task counts in this window are unknown.",
  lines: ({ model }) => {
    const series = model.seriesOf("states");
    return Object.entries(stateColors).flatMap(([state, color]) => {
      const found = best(series, state);
      return found
        ? [{ series: [found], label: state, color: state === "erred" ? theme().text : color, slot: null }]
        : [];
    });
  },
});

export const clusterSize = seriesChart({
  name: "cluster-size",
  title: "Workers and threads",
  quantity: "workers",
  layers: ["cluster"],
  help: "Number of workers and threads, from the scheduler's identity.",
  unit: units.count,
  empty: "The number of workers in this window is unknown.",
  lines: ({ model }) =>
    model.seriesOf("cluster").flatMap((series) => {
      if (series.metric === "observatory_cluster_threads") return [line(series, "threads", theme().muted)];
      return series.labels.state === "total" ? [line(series, "workers", theme().accent)] : [];
    }),
});

/**
 * The counts of each second, or those of the scrapes where those leave a state out.
 * @param {Series[]} series
 * @param {string} state
 */
function best(series, state) {
  const found = series.filter((one) => one.labels.state === state);
  return found.find((one) => one.metric === "observatory_cluster_tasks") ?? found[0];
}

/**
 * @param {Series} series
 * @param {string} label
 * @param {string} color
 * @returns {Line}
 */
function line(series, label, color) {
  return { series: [series], label, color, slot: null };
}
