// The layout of a flame graph: the root at the top, then the frame that is zoomed in, and its callees below.

import { ordered } from "./tree.js";

/** @typedef {import("./tree.js").Node} Node */
/**
 * `node` is null for what is too narrow to be drawn by itself. x and width are in px.
 * @typedef {{node: Node|null, x: number, width: number}} Box
 */

const NARROWEST = 0.7; // px
export const DEEPEST = 150; // rows: what lies deeper is seen when a frame is zoomed into

/**
 * @param {Node} root
 * @param {Node} focus as wide as the root
 * @param {number} width px
 * @returns {Box[][]} the boxes of each row, from left to right
 */
export function layOutFlames(root, focus, width) {
  /** @type {Box[][]} */
  const rows = [[{ node: root, x: 0, width }]];
  if (focus !== root) rows.push([{ node: focus, x: 0, width }]);
  const scale = width / Math.max(focus.total, 1);
  while (rows.length < DEEPEST) {
    const row = rows[rows.length - 1].flatMap((box) => (box.node ? childrenOf(box.node, box.x, scale) : []));
    if (!row.length) break;
    rows.push(merged(row));
  }
  return rows;
}

/**
 * @param {Node} node
 * @param {number} x
 * @param {number} scale px a sample
 * @returns {Box[]}
 */
function childrenOf(node, x, scale) {
  return ordered(node).map((child) => {
    const width = child.total * scale;
    const box = { node: width < NARROWEST ? null : child, x, width };
    x += width;
    return box;
  });
}

/**
 * Narrow neighbours as one.
 * @param {Box[]} row
 */
function merged(row) {
  /** @type {Box[]} */
  const found = [];
  for (const box of row) {
    const before = found[found.length - 1];
    const touches = before && box.x - (before.x + before.width) < NARROWEST;
    if (touches && !before.node && !box.node) before.width = box.x + box.width - before.x;
    else found.push(box);
  }
  return found;
}

/**
 * @param {Box[][]} rows
 * @param {number} row
 * @param {number} x
 * @returns {Node|null}
 */
export function nodeAt(rows, row, x) {
  return rows[row]?.find((box) => x >= box.x && x < box.x + box.width)?.node ?? null;
}

/**
 * The frame that an arrow key leads to: the caller, the callee with most samples, or what stands beside it.
 * @param {Node} node
 * @param {string} key
 * @returns {Node|null}
 */
export function neighbour(node, key) {
  if (key === "ArrowUp") return node.parent;
  if (key === "ArrowDown")
    return [...node.children.values()].sort((one, other) => other.total - one.total)[0] ?? null;
  const beside = node.parent ? ordered(node.parent) : [];
  const at = beside.indexOf(node);
  if (key === "ArrowLeft") return beside[at - 1] ?? null;
  return key === "ArrowRight" ? (beside[at + 1] ?? null) : null;
}
