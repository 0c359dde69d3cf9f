// The graph as a table: a row for each node.

import { TASK_STATES } from "../../contract.js";
import { TIMES } from "./nodes.js";
import { neighbours } from "./selected_node.js";
import { ORDER } from "./states.js";

/** @typedef {import("./nodes.js").Nodes} Nodes */
/** @typedef {import("./nodes.js").Instant} Instant */

/**
 * @param {Nodes|null} nodes
 * @param {Instant|null} instant whose states are given
 * @param {boolean} isOfGroups rather than of tasks
 * @param {string} note
 * @returns {import("../chart_menu/table.js").Table}
 */
export function graphTable(nodes, instant, isOfGroups, note) {
  const states = isOfGroups ? ORDER.map((state) => TASK_STATES[state]) : ["state"];
  const seconds = Object.values(TIMES).map((text) => `${text} (s)`);
  const rows = nodes
    ? Array.from({ length: nodes.count }, (_, node) => rowOf(nodes, node, instant, states))
    : [];
  return { columns: [isOfGroups ? "group" : "key", ...states, ...seconds, "needs"], rows, note };
}

/**
 * @param {Nodes} nodes
 * @param {number} node
 * @param {Instant|null} instant
 * @param {string[]} states names of the lines that tell them
 */
function rowOf(nodes, node, instant, states) {
  const lines = new Map(instant?.lines(node).map(([name, value]) => [name, value]));
  const found = states.map((state) => lines.get(state) ?? null);
  const times = /** @type {(keyof typeof TIMES)[]} */ (Object.keys(TIMES)).map((time) =>
    nodes.seconds(node, time),
  );
  const needed = neighbours(nodes.task, nodes.needed, node).map((other) => nodes.names[other]);
  return [nodes.names[node], ...found, ...times, needed.join("; ")];
}
