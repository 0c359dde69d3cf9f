// The tab “Workers”: each worker: its tasks, memory and CPU, and those that stand out.

import { flameGraph } from "../charts/flame_graph/flame_graph.js";
import { logLines } from "../charts/logs/log_lines.js";
import { outliers } from "../charts/outliers/outliers.js";
import { resultsNow } from "../charts/playhead/results_now.js";
import { workersNow } from "../charts/playhead/workers_now.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";
import { selectedCustom } from "../charts/series/custom.js";
import { diskRead, diskWrite, networkRead, networkWrite } from "../charts/series/machines.js";
import { selectedMemory, workerMemory } from "../charts/series/memory.js";
import { cpu, eventLoop, gil } from "../charts/series/processor.js";
import { taskStream } from "../charts/task_stream/task_stream.js";
import { transfersOverTime } from "../charts/transfers/over_time.js";
import { workerDetail } from "../charts/worker/worker_detail.js";
import { workersTable } from "../charts/worker/workers_table.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [
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
];
