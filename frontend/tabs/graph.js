// The tab “Graph”: which groups there are, what each needs, where their tasks were and where they waited.

import { graph } from "../charts/graph/graph.js";
import { groupsOverTime } from "../charts/graph/groups_over_time.js";
import { selectedTask } from "../charts/selected_task/selected_task.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [groupsOverTime, graph, selectedTask];
