// The tab “Transfers”: who sent what to whom and how fast, what was stolen, and P2P shuffles.

import { workersNow } from "../charts/playhead/workers_now.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";
import { taskStream } from "../charts/task_stream/task_stream.js";
import { bandwidthTypes } from "../charts/transfers/bandwidth_types.js";
import { largestTransfers } from "../charts/transfers/largest.js";
import { transferMatrix } from "../charts/transfers/matrix.js";
import { transfersOverTime } from "../charts/transfers/over_time.js";
import { transferPairs } from "../charts/transfers/pairs.js";
import { shuffles } from "../charts/transfers/shuffles.js";
import { steals } from "../charts/transfers/steals.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [
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
];
