// The tab “Status”: what the cluster does: its task stream, its workers, what goes on at the playhead.

import { alertsList } from "../charts/alerts/list.js";
import { notes } from "../charts/events/notes.js";
import { flameGraph } from "../charts/flame_graph/flame_graph.js";
import { heatMap } from "../charts/heat_map/heat_map.js";
import { outliers } from "../charts/outliers/outliers.js";
import { progress } from "../charts/playhead/progress.js";
import { tasksNow } from "../charts/playhead/tasks_now.js";
import { workersNow } from "../charts/playhead/workers_now.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";
import { clusterMemory, selectedMemory, workerMemory } from "../charts/series/memory.js";
import { cpu, eventLoop, gil } from "../charts/series/processor.js";
import { clusterSize, states } from "../charts/series/states.js";
import { stolenList } from "../charts/stolen/list.js";
import { stragglersList } from "../charts/stragglers/list.js";
import { taskStream } from "../charts/task_stream/task_stream.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [
  { ...taskStream, fills: true },
  clusterMemory,
  workerMemory,
  selectedMemory,
  cpu,
  gil,
  eventLoop,
  states,
  clusterSize,
  heatMap,
  progress,
  workersNow,
  tasksNow,
  selectedTask,
  alertsList,
  notes,
  stragglersList,
  stolenList,
  outliers,
  flameGraph,
];
