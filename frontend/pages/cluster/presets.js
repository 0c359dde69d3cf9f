// Ready-made selections of charts for the first tab.

/** @type {Record<string, string[]>} names of charts in their order, without the tracks that each tab has */
export const PRESETS = {
  "as in Dask": ["task-stream", "cluster-memory", "memory", "cpu", "progress", "tasks-now", "workers-now"],
  memory: [
    "cluster-memory",
    "prefix-memory",
    "memory",
    "heat-map",
    "task-stream",
    "progress",
    "workers-now",
    "results-now",
  ],
  scheduler: [
    "task-stream",
    "states",
    "event-loop",
    "scheduler-cpu",
    "scheduler-memory",
    "transitions",
    "clients",
    "progress",
    "tasks-now",
  ],
  GPU: [
    "task-stream",
    "gpu-utilization",
    "gpu-memory",
    "gpu-spilled",
    "rmm-memory",
    "gpu-power",
    "gpu-temperature",
    "cpu",
    "progress",
    "workers-now",
  ],
};
