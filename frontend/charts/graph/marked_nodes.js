// Which nodes of a graph are selected: with other charts, or by a click.

/** @typedef {import("./nodes.js").Nodes} Nodes */
/** @typedef {import("./boxes.js").Kind} Kind */

/**
 * The nodes of the selection: a task, a group that was clicked, or all groups of a prefix.
 * @param {Nodes|null} nodes
 * @param {Kind} kind
 * @param {{prefix: number|null, key: string|null}} selection
 * @param {number|null} chosen node that was clicked
 * @returns {Set<number>}
 */
export function markedNodes(nodes, kind, { prefix, key }, chosen) {
  if (!nodes || (prefix === null && key === null)) return new Set();
  if (kind === "tasks" && key !== null) {
    const node = nodeNamed(nodes, key);
    return new Set(node === null ? [] : [node]);
  }
  if (chosen !== null && nodes.prefixes[chosen] === prefix) return new Set([chosen]);
  return new Set(nodes.prefixes.flatMap((one, node) => (one === prefix ? [node] : [])));
}

/**
 * @param {Nodes} nodes
 * @param {string} name
 * @returns {number|null}
 */
export function nodeNamed({ names }, name) {
  const node = names.indexOf(name);
  return node < 0 ? null : node;
}
