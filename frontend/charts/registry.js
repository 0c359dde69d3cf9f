// The charts of each tab, in the order in which the page shows them. A new chart is one file, and one line here.

import { alertsList } from "./alerts/list.js";
import { alertsTrack } from "./alerts/track.js";
import { eventsTrack } from "./events/track.js";
import { clusterMemory, selectedMemory, workerMemory } from "./series/memory.js";
import { cpu, eventLoop, gil } from "./series/processor.js";
import { flameGraph } from "./flame_graph/flame_graph.js";
import { heatMap } from "./heat_map/heat_map.js";
import { notes } from "./events/notes.js";
import { outliers } from "./outliers/outliers.js";
import { progress } from "./playhead/progress.js";
import { clusterSize, states } from "./series/states.js";
import { selectedTask } from "./selected_task/selected_task.js";
import { stolenList } from "./stolen/list.js";
import { stragglersList } from "./stragglers/list.js";
import { taskStream } from "./task_stream/task_stream.js";
import { tasksNow } from "./playhead/tasks_now.js";
import { workersNow } from "./playhead/workers_now.js";

/** @typedef {import("../types.js").Chart} Chart */

/** @type {Chart[]} on each tab */
export const marks = [eventsTrack, alertsTrack];

/** @type {Record<import("../contract.js").TabName, Chart[]>} */
export const charts = {
  status: [
    taskStream,
    heatMap,
    clusterMemory,
    workerMemory,
    selectedMemory,
    cpu,
    gil,
    eventLoop,
    states,
    clusterSize,
    selectedTask,
    alertsList,
    notes,
    progress,
    tasksNow,
    workersNow,
    stragglersList,
    stolenList,
    outliers,
    flameGraph,
  ],
  workers: [taskStream, workerMemory, selectedMemory, cpu, selectedTask, workersNow, outliers],
  memory: [clusterMemory, workerMemory, selectedMemory, heatMap, states, progress, workersNow],
  contention: [gil, eventLoop, cpu, taskStream, workersNow, flameGraph],
  profile: [taskStream, selectedTask, progress, flameGraph],
};
