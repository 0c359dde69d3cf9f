// The tab “Memory”: memory of the cluster and of each worker, by kind.

import { heatMap } from "../charts/heat_map/heat_map.js";
import { outliers } from "../charts/outliers/outliers.js";
import { progress } from "../charts/playhead/progress.js";
import { resultsNow } from "../charts/playhead/results_now.js";
import { workersNow } from "../charts/playhead/workers_now.js";
import { runMemory } from "../charts/run_memory/run_memory.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";
import { gpuMemory, gpuSpilled, rmmMemory } from "../charts/series/gpu.js";
import { clusterMemory, selectedMemory, workerMemory } from "../charts/series/memory.js";
import { prefixMemory } from "../charts/series/prefix_memory.js";
import { states } from "../charts/series/states.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [
  clusterMemory,
  prefixMemory,
  workerMemory,
  selectedMemory,
  gpuMemory,
  rmmMemory,
  gpuSpilled,
  heatMap,
  states,
  selectedTask,
  progress,
  workersNow,
  outliers,
  runMemory,
  resultsNow,
];
