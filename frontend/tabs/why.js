// The tab “Why?”: where the time of all threads went, why they were idle, and what others waited for.

import { criticalPath } from "../charts/critical_path/chart.js";
import { findings } from "../charts/findings/findings.js";
import { workersNow } from "../charts/playhead/workers_now.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";
import { taskStream } from "../charts/task_stream/task_stream.js";
import { threadTimes } from "../charts/thread_times/breakdown.js";
import { threadTimesOverTime } from "../charts/thread_times/over_time.js";
import { waitedFor } from "../charts/thread_times/waited_for.js";
import { whatIf } from "../charts/what_if/chart.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [
  findings,
  threadTimesOverTime,
  taskStream,
  threadTimes,
  criticalPath,
  whatIf,
  waitedFor,
  selectedTask,
  workersNow,
];
