// The tab “Logs”: what the processes of the cluster logged.

import { logCounts } from "../charts/logs/log_counts.js";
import { logLines } from "../charts/logs/log_lines.js";
import { workersNow } from "../charts/playhead/workers_now.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";
import { taskStream } from "../charts/task_stream/task_stream.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [logCounts, taskStream, logLines, selectedTask, workersNow];
