// The machines of the workers and the process of the scheduler: network, disk, file descriptors, clients, transitions.

import { theme } from "../drawing/theme.js";
import { seriesChart } from "./series_chart.js";
import { units } from "./value_axis.js";
import { workerLayers, workerLines } from "./worker_lines.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("./series_chart.js").Line} Line */

const NETWORK = "observatory_worker_host_network_bytes_per_second";
const DISK = "observatory_worker_host_disk_bytes_per_second";

export const networkRead = traffic("network-received", "Network: received", "network", NETWORK, "read");
export const networkWrite = traffic("network-sent", "Network: sent", "network", NETWORK, "write");
export const diskRead = traffic("disk-read", "Disk: read", "disk", DISK, "read");
export const diskWrite = traffic("disk-written", "Disk: written", "disk", DISK, "write");

export const fileDescriptors = seriesChart({
  name: "file-descriptors",
  title: "File descriptors",
  layers: workerLayers("descriptors"),
  help: "Open files and connections of each worker's process, from the workers' heartbeats (observatory_worker_file_descriptors).",
  unit: units.count,
  empty: "No worker has reported its file descriptors in this window.",
  lines: (context, view) => workerLines(context, view, "descriptors", () => true),
});

export const diskFull = seriesChart({
  name: "disk-full",
  title: "How full the workers' disks are",
  quantity: "worker-disk",
  layers: workerLayers("disk"),
  help: "Share of the disk in use to which a worker spills. The agent reports it (observatory_worker_disk_ratio).",
  unit: units.percent,
  empty: "How full the disks are is unknown in this window. The agent reports it (docs/agent.md).",
  lines: (context, view) =>
    workerLines(context, view, "disk", ({ metric }) => metric === "observatory_worker_disk_ratio", 100),
});

export const schedulerCpu = seriesChart({
  name: "scheduler-cpu",
  title: "CPU of the scheduler",
  quantity: "scheduler-cpu",
  layers: ["scheduler"],
  help: "CPU of the scheduler's process: 100 % is one core, of which its event loop uses at most one (observatory_scheduler_cpu_percent).",
  unit: units.percent,
  empty: "The scheduler has not reported its CPU in this window.",
  lines: (context) => of(context, "observatory_scheduler_cpu_percent", "scheduler"),
});

export const schedulerMemory = seriesChart({
  name: "scheduler-memory",
  title: "Memory of the scheduler",
  layers: ["scheduler"],
  help: "Memory of the scheduler's process. The agent reports it (observatory_scheduler_memory_bytes).",
  unit: units.bytes,
  empty: "The memory of the scheduler is unknown in this window. The agent reports it (docs/agent.md).",
  lines: (context) => of(context, "observatory_scheduler_memory_bytes", "scheduler"),
});

export const clients = seriesChart({
  name: "clients",
  title: "Clients",
  layers: ["scheduler"],
  help: "Clients that are connected to the scheduler (observatory_cluster_clients). Their coming and going is among the events.",
  unit: units.count,
  empty: "The number of clients in this window is unknown.",
  lines: (context) => of(context, "observatory_cluster_clients", "clients"),
});

export const transitions = seriesChart({
  name: "transitions",
  title: "Transitions",
  layers: ["scheduler"],
  help:
    "Changes of tasks' states that the scheduler makes in a second: what it has to do. Each costs its event loop some tens of microseconds, so it is " +
    "busy with some ten thousand. The agent reports it (observatory_scheduler_transitions_total).",
  unit: units.perSecond,
  empty: "The number of transitions is unknown in this window. The agent reports it (docs/agent.md).",
  lines: (context) => of(context, "observatory_scheduler_transitions_total", "transitions"),
});

/**
 * @param {string} name
 * @param {string} title
 * @param {string} layer
 * @param {string} metric
 * @param {"read"|"write"} direction
 * @returns {Chart}
 */
function traffic(name, title, layer, metric, direction) {
  return seriesChart({
    name,
    title,
    ...(metric === DISK && direction === "write" && { quantity: "disk-writing" }),
    layers: workerLayers(layer),
    help:
      "Traffic of each worker's machine, all of its processes together: workers on one machine have the same. " +
      `From the workers' heartbeats (${metric}).`,
    unit: units.bytesPerSecond,
    empty:
      "The traffic of the workers' machines is unknown in this window. The agent reports it (docs/agent.md).",
    lines: (context, view) =>
      workerLines(context, view, layer, (one) => one.metric === metric && one.labels.direction === direction),
  });
}

/**
 * @param {Context} context
 * @param {string} metric
 * @param {string} label
 * @returns {Line[]}
 */
function of({ model }, metric, label) {
  const found = model.seriesOf("scheduler").find((one) => one.metric === metric);
  return found ? [{ series: [found], label, color: theme().text, slot: null }] : [];
}
