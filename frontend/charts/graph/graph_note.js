// What is said below a graph: what it has, or why there is none, or what of it is not shown.

import { formatCount, formatCountOf } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { UNKNOWN_STATES } from "./states.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas} Schemas */

/**
 * @param {{answer: Schemas["GroupGraph"]|Schemas["TaskGraph"]|null, message: string}} data
 * @param {boolean} hasLayout
 * @param {Pick<Context, "info"|"source">} context
 */
export function noteText({ answer, message }, hasLayout, { info, source }) {
  if (!answer) return message;
  if ("keys" in answer && answer.is_too_large) {
    return `Over ${formatCount(answer.most)} tasks changed in this window. Zoom in to see them, or look at the groups.`;
  }
  const nodes = "keys" in answer ? answer.keys : answer.groups;
  const texts = message ? [message] : [];
  if (!nodes.length) texts.push("No task was computed or changed its state in this window.");
  else if (!hasLayout) texts.push("laying out …");
  if (!answer.has_states && nodes.length) {
    texts.push(info.has_agent ? "No changes of states were recorded in this window." : UNKNOWN_STATES);
  }
  if ("groups" in answer && answer.others)
    texts.push(`${formatCount(answer.others)} groups that took less time are not shown.`);
  if (!answer.has_all_edges) texts.push("There are more edges than are shown.");
  if ("groups" in answer && !answer.is_complete)
    texts.push("There are so many groups that the states of the smallest are not complete.");
  if (source.isFile) texts.push("A file has the graph of the whole run, not of the window.");
  return texts.join(" ");
}

/**
 * @param {import("./nodes.js").Nodes} nodes
 * @param {import("./nodes.js").Instant} instant
 * @param {number} node
 */
export function describe(nodes, instant, node) {
  const lines = instant.lines(node).map(([name, value]) => `${name} ${value}`);
  return `${nodes.names[node]}: ${lines.join(", ") || "nothing is known"}`;
}

/**
 * @param {import("./nodes.js").Nodes} nodes
 * @param {import("./nodes.js").Instant} instant
 * @param {boolean} isOfGroups rather than of tasks
 */
export function summarize(nodes, instant, isOfGroups) {
  const what = formatCountOf(nodes.count, isOfGroups ? "group" : "task");
  return `${what} and ${formatCountOf(nodes.task.length, "edge")}; states at ${formatTime(instant.time, 1)}.`;
}
