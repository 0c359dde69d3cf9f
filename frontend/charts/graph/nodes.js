// What the nodes of a graph are, groups or tasks, and what is told of each at an instant.

import { TASK_STATES } from "../../contract.js";
import { formatBytes, formatCount, formatCountOf, formatDuration } from "../../formatting.js";
import { ORDER, computedBy, stateColor, stateOfTasks, statesAt } from "./states.js";

/** @typedef {import("../../types.js").Schemas["GroupGraph"]} GroupGraph */
/** @typedef {import("../../types.js").Schemas["TaskGraph"]} TaskGraph */
/** `seconds`: computing, waiting for what it needs, waiting for a worker, on a worker without computing. @typedef {"computing"|"waiting"|"queued"|"idle"} TimeName */
/**
 * A graph as it is drawn. `shares` are the parts of a node's area by colour at an instant, `lines` what is told of it.
 * @typedef {{count: number, names: string[], labels: string[], prefixes: number[], task: number[], needed: number[],
 *   seconds: (node: number, time: TimeName) => number|null, at: (at: number) => Instant}} Nodes
 * @typedef {{time: number, shares: (node: number) => Share[], lines: (node: number) => [string, string, string?][], states: Map<number, number>}} Instant
 * @typedef {{color: string, share: number}} Share
 */

/** @type {Record<TimeName, string>} */
export const TIMES = {
  computing: "computing",
  waiting: "waiting for what it needs",
  queued: "waiting for a worker",
  idle: "on a worker, not computing",
};

/** @param {GroupGraph} graph @returns {Nodes} */
export function nodesOfGroups(graph) {
  const { groups, edges } = graph;
  /** @type {Nodes["seconds"]} */
  const seconds = (node, time) => {
    const { seconds: computing, waiting, queued, processing } = groups[node];
    if (time === "computing") return computing;
    if (time === "idle") return processing === null ? null : Math.max(0, processing - computing);
    return time === "waiting" ? waiting : queued;
  };
  return {
    count: groups.length,
    names: groups.map(({ name }) => name),
    labels: labelsOf(groups.map(({ name }) => name)),
    prefixes: groups.map(({ prefix }) => prefix),
    task: edges.task,
    needed: edges.needed,
    seconds,
    at: (at) => {
      const { counts, time } = statesAt(graph, at);
      const computed = computedBy(graph, at);
      const totals = new Map(ORDER.map((state) => [state, counts.reduce((sum, row) => sum + row[state], 0)]));
      return {
        time,
        states: totals,
        shares: (node) => sharesOf(counts[node]),
        lines: (node) => [
          ...stateLines(counts[node]),
          ...groupLines(graph, node, computed[node]),
          ...timeLines(seconds, node),
        ],
      };
    },
  };
}

const TOKEN = /-[0-9a-f]{32}$/; // of dask.base.tokenize
const DIGITS = 4; // of the token, where groups differ in nothing else

/**
 * The names of groups without their tokens, which take the room of what can be read.
 * @param {string[]} names
 * @returns {string[]} each once
 */
export function labelsOf(names) {
  const short = names.map((name) => name.replace(TOKEN, ""));
  const counts = new Map();
  for (const label of short) counts.set(label, (counts.get(label) ?? 0) + 1);
  return names.map((name, at) =>
    counts.get(short[at]) > 1 ? `${short[at]} …${name.slice(-DIGITS)}` : short[at],
  );
}

/** @param {TaskGraph} graph @returns {Nodes} */
export function nodesOfTasks(graph) {
  return {
    count: graph.keys.length,
    names: graph.keys,
    labels: graph.keys,
    prefixes: graph.prefix,
    task: graph.edges.task,
    needed: graph.edges.needed,
    seconds: (node, time) => (time === "computing" ? graph.seconds[node] : null),
    at: (at) => {
      const states = stateOfTasks(graph, at);
      const totals = new Map(ORDER.map((state) => [state, 0]));
      for (const state of states) totals.set(state, (totals.get(state) ?? 0) + 1);
      return {
        time: Math.min(Math.max(at, graph.start), graph.stop),
        states: totals,
        shares: (node) => (states[node] < 0 ? [] : [{ color: stateColor(states[node]), share: 1 }]),
        lines: (node) => [taskState(states[node]), ["computed", formatDuration(graph.seconds[node])]],
      };
    },
  };
}

/** @param {number} state @returns {[string, string, string?]} */
function taskState(state) {
  return state < 0 ? ["state", "not there yet"] : ["state", TASK_STATES[state], stateColor(state)];
}

/** @param {number[]|undefined} counts by state @returns {Share[]} */
function sharesOf(counts) {
  const total = counts?.reduce((sum, count) => sum + count, 0) ?? 0;
  if (!counts || !total) return [];
  return ORDER.filter((state) => counts[state]).map((state) => ({
    color: stateColor(state),
    share: counts[state] / total,
  }));
}

/** @param {number[]|undefined} counts @returns {[string, string, string?][]} */
function stateLines(counts) {
  if (!counts) return [];
  return ORDER.filter((state) => counts[state]).map((state) => [
    TASK_STATES[state],
    formatCount(counts[state]),
    stateColor(state),
  ]);
}

/** @param {GroupGraph} graph @param {number} node @param {number} computed @returns {[string, string][]} */
function groupLines({ groups }, node, computed) {
  const { tasks, erred, longest, nbytes } = groups[node];
  /** @type {[string, string][]} */
  const lines = [["computed by then", computedText(computed, tasks)]];
  if (erred) lines.push(["failed attempts in the window", formatCount(erred)]);
  if (longest !== null) lines.push(["longest", formatDuration(longest)]);
  if (nbytes) lines.push(["results", formatBytes(nbytes)]);
  return lines;
}

/**
 * @param {number} computed computations: a task that failed, or whose result was lost, has several
 * @param {number|null} tasks of the group
 */
function computedText(computed, tasks) {
  if (tasks === null) return formatCount(computed);
  if (computed <= tasks) return `${formatCount(computed)} of ${formatCountOf(tasks, "task")}`;
  return `${formatCountOf(computed, "computation")} of ${formatCountOf(tasks, "task")}, some again`;
}

/** @param {Nodes["seconds"]} seconds @param {number} node @returns {[string, string][]} */
function timeLines(seconds, node) {
  const times = /** @type {TimeName[]} */ (Object.keys(TIMES));
  return times.flatMap((time) => {
    const value = seconds(node, time);
    return value === null ? [] : [/** @type {[string, string]} */ ([TIMES[time], formatDuration(value)])];
  });
}
