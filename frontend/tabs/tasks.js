// The tab “Tasks”: each prefix and group: durations, errors, its slowest tasks; the search for keys.

import { prefixTable } from "../charts/prefix_table/prefix_table.js";
import { states } from "../charts/series/states.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [states, prefixTable];
