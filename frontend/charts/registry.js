// All charts, in the order in which a page shows them. Adding one is a file and a line here.

import { eventsTrack } from "./events_track.js";
import { clusterMemory, selectedMemory, workerMemory } from "./memory.js";
import { cpu, eventLoop, gil } from "./processor.js";
import { flameGraph } from "./flame_graph.js";
import { progress } from "./progress.js";
import { clusterSize, states } from "./states.js";
import { taskStream } from "./task_stream.js";
import { tasksNow } from "./tasks_now.js";
import { workersNow } from "./workers_now.js";

/** @type {import("../types.js").Chart[]} */
export const charts = [
  eventsTrack,
  taskStream,
  clusterMemory,
  workerMemory,
  selectedMemory,
  cpu,
  gil,
  eventLoop,
  states,
  clusterSize,
  progress,
  tasksNow,
  workersNow,
  flameGraph,
];
