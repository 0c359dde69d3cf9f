// The charts of each tab, in the order in which the page shows them. A new chart is one file, and one line here.

import { alertsList } from "./alerts/list.js";
import { alertsTrack } from "./alerts/track.js";
import { criticalPath } from "./critical_path/chart.js";
import { environment } from "./system/environment.js";
import { eventList } from "./system/event_list.js";
import { eventsTrack } from "./events/track.js";
import { clusterMemory, selectedMemory, workerMemory } from "./series/memory.js";
import { cpu, eventLoop, gil } from "./series/processor.js";
import { selectedCustom } from "./series/custom.js";
import { findings } from "./findings/findings.js";
import { finePerformance } from "./fine_performance/fine_performance.js";
import { flameGraph } from "./flame_graph/flame_graph.js";
import { gpuMemory, gpuUtilization, rmmMemory } from "./series/gpu.js";
import { graph } from "./graph/graph.js";
import { groupsOverTime } from "./graph/groups_over_time.js";
import { heatMap } from "./heat_map/heat_map.js";
import { logCounts } from "./logs/log_counts.js";
import { logLines } from "./logs/log_lines.js";
import {
  networkRead,
  networkWrite,
  diskRead,
  diskWrite,
  diskFull,
  fileDescriptors,
  schedulerCpu,
  schedulerMemory,
  clients,
  transitions,
} from "./series/machines.js";
import { notes } from "./events/notes.js";
import { outliers } from "./outliers/outliers.js";
import { prefixMemory } from "./series/prefix_memory.js";
import { prefixTable } from "./prefix_table/prefix_table.js";
import { progress } from "./playhead/progress.js";
import { clusterSize, states } from "./series/states.js";
import { runMemory } from "./run_memory/run_memory.js";
import { selectedTask } from "./selected_task/selected_task.js";
import { resultsNow } from "./playhead/results_now.js";
import { semaphoresNow } from "./semaphores/now.js";
import { semaphores } from "./semaphores/over_time.js";
import { stolenList } from "./stolen/list.js";
import { stragglersList } from "./stragglers/list.js";
import { taskStream } from "./task_stream/task_stream.js";
import { bandwidthTypes } from "./transfers/bandwidth_types.js";
import { largestTransfers } from "./transfers/largest.js";
import { transferMatrix } from "./transfers/matrix.js";
import { transfersOverTime } from "./transfers/over_time.js";
import { transferPairs } from "./transfers/pairs.js";
import { shuffles } from "./transfers/shuffles.js";
import { steals } from "./transfers/steals.js";
import { threadTimes } from "./thread_times/breakdown.js";
import { threadTimesOverTime } from "./thread_times/over_time.js";
import { waitedFor } from "./thread_times/waited_for.js";
import { tasksNow } from "./playhead/tasks_now.js";
import { workerDetail } from "./worker/worker_detail.js";
import { workersNow } from "./playhead/workers_now.js";
import { workersTable } from "./worker/workers_table.js";
import { whatIf } from "./what_if/chart.js";

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
  tasks: [states, prefixTable],
  workers: [
    taskStream,
    workerMemory,
    selectedMemory,
    selectedCustom,
    cpu,
    gil,
    eventLoop,
    transfersOverTime,
    networkRead,
    networkWrite,
    diskRead,
    diskWrite,
    selectedTask,
    workersNow,
    workerDetail,
    workersTable,
    resultsNow,
    outliers,
    logLines,
    flameGraph,
  ],
  transfers: [
    transfersOverTime,
    bandwidthTypes,
    taskStream,
    transferMatrix,
    transferPairs,
    largestTransfers,
    shuffles,
    steals,
    selectedTask,
    workersNow,
  ],
  memory: [
    clusterMemory,
    prefixMemory,
    workerMemory,
    selectedMemory,
    gpuMemory,
    rmmMemory,
    heatMap,
    states,
    selectedTask,
    progress,
    workersNow,
    outliers,
    runMemory,
    resultsNow,
  ],
  graph: [groupsOverTime, graph, selectedTask],
  contention: [
    gil,
    eventLoop,
    cpu,
    schedulerCpu,
    transitions,
    taskStream,
    workersNow,
    finePerformance,
    flameGraph,
  ],
  profile: [taskStream, selectedTask, flameGraph],
  system: [
    cpu,
    workerMemory,
    networkRead,
    networkWrite,
    diskRead,
    diskWrite,
    diskFull,
    fileDescriptors,
    gpuUtilization,
    gpuMemory,
    rmmMemory,
    schedulerCpu,
    schedulerMemory,
    transitions,
    clients,
    semaphores,
    eventLoop,
    workersNow,
    semaphoresNow,
    environment,
    eventList,
  ],
  logs: [logCounts, taskStream, logLines, selectedTask, workersNow],
  why: [
    findings,
    threadTimesOverTime,
    taskStream,
    threadTimes,
    criticalPath,
    whatIf,
    waitedFor,
    selectedTask,
    workersNow,
  ],
};
