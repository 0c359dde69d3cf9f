// The tab “Profile”: which code the threads ran.

import { attachedFiles } from "../charts/attached_files/track.js";
import { flameGraph } from "../charts/flame_graph/flame_graph.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";
import { taskStream } from "../charts/task_stream/task_stream.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [taskStream, attachedFiles, selectedTask, flameGraph];
