// The tab “Contention”: how busy CPU, GIL and event loops are, and which code ran.

import { finePerformance } from "../charts/fine_performance/fine_performance.js";
import { flameGraph } from "../charts/flame_graph/flame_graph.js";
import { workersNow } from "../charts/playhead/workers_now.js";
import { schedulerCpu, transitions } from "../charts/series/machines.js";
import { cpu, eventLoop, gil } from "../charts/series/processor.js";
import { taskStream } from "../charts/task_stream/task_stream.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [
  gil,
  eventLoop,
  cpu,
  schedulerCpu,
  transitions,
  taskStream,
  workersNow,
  finePerformance,
  flameGraph,
];
