// All charts, in the order in which a page shows them. Adding one is a file and a line here.

import { alertsList } from "./alerts_list.js";
import { alertsTrack } from "./alerts_track.js";
import { eventsTrack } from "./events_track.js";
import { clusterMemory, selectedMemory, workerMemory } from "./memory.js";
import { cpu, eventLoop, gil } from "./processor.js";
import { flameGraph } from "./flame_graph.js";
import { notes } from "./notes.js";
import { progress } from "./progress.js";
import { clusterSize, states } from "./states.js";
import { taskStream } from "./task_stream.js";
import { tasksNow } from "./tasks_now.js";
import { workersNow } from "./workers_now.js";

/** @type {import("../types.js").Chart[]} */
export const charts = [
  eventsTrack,
  alertsTrack,
  taskStream,
  clusterMemory,
  workerMemory,
  selectedMemory,
  cpu,
  gil,
  eventLoop,
  states,
  clusterSize,
  alertsList,
  notes,
  progress,
  tasksNow,
  workersNow,
  flameGraph,
];
