// The states of tasks in a graph: their colours, which are Dask's, and how many tasks were in each at an instant.

import { TASK_STATES } from "../../contract.js";

/** @typedef {import("../../types.js").Schemas["GroupGraph"]} GroupGraph */
/** @typedef {import("../../types.js").Schemas["TaskGraph"]} TaskGraph */

/** @type {Record<string, string>} those of Dask's task graph; forgotten tasks aren't in that */
const graphColors = {
  waiting: "#808080",
  queued: "#ffff00",
  "no-worker": "#ffa500",
  processing: "#008000",
  memory: "#ff0000",
  released: "#0000ff",
  forgotten: "#a9b9e8",
  erred: "#000000",
};
/** in the order in which tasks go through them: numbers of TASK_STATES */
export const ORDER = Object.keys(graphColors).map((name) => TASK_STATES.indexOf(name));
export const UNKNOWN_STATES =
  "Dask's stock endpoints tell neither the states of a group's tasks nor what it needs. The agent adds both.";

/** @param {number} state @returns {string} */
export function stateColor(state) {
  return graphColors[TASK_STATES[state]] ?? "#808080";
}

/**
 * How much of the bins of an answer is over by a time: a bin counts once it has ended.
 * @param {{start: number, width: number, bins: number}} binned
 * @param {number} at
 * @param {number} stop the end of what was recorded, where the last bin ends
 * @returns {number} bins
 */
export function binsBy({ start, width, bins }, at, stop) {
  return at >= stop - 1e-6 ? bins : Math.min(Math.max(Math.floor((at - start) / width + 1e-6), 0), bins);
}

/**
 * The tasks in each state, by group, at an instant; empty where states aren't known.
 * @param {GroupGraph} graph
 * @param {number} at
 * @returns {{counts: number[][], time: number}} and the instant that they are of
 */
export function statesAt({ changes, groups, has_states, start, stop }, at) {
  const bins = binsBy(changes, at, stop);
  const time = bins === changes.bins ? stop : Math.max(start, changes.start + bins * changes.width);
  if (!has_states) return { counts: [], time };
  const counts = groups.map(({ before }) => [...before]);
  changes.bin.forEach((bin, row) => {
    if (bin < bins) counts[changes.group[row]][changes.state[row]] += changes.change[row];
  });
  // what was recorded of a task can begin in the middle of its life
  for (const row of counts) row.forEach((count, state) => (row[state] = Math.max(Math.round(count), 0)));
  return { counts, time };
}

/**
 * The tasks of each group that were computed by an instant.
 * @param {GroupGraph} graph
 * @param {number} at
 * @returns {number[]}
 */
export function computedBy({ work, groups, stop }, at) {
  const bins = binsBy(work, at, stop);
  const counts = groups.map(({ computed_before }) => computed_before);
  work.bin.forEach((bin, row) => {
    if (bin < bins) counts[work.group[row]] += work.tasks[row];
  });
  return counts;
}

/**
 * The state of each task at an instant.
 * @param {TaskGraph} graph
 * @param {number} at
 * @returns {Int8Array}
 */
export function stateOfTasks({ before, changes, start }, at) {
  const states = Int8Array.from(before);
  const { task, time, state } = changes;
  for (let row = 0; row < task.length && time[row] <= at - start + 1e-6; row++)
    states[task[row]] = state[row];
  return states;
}
