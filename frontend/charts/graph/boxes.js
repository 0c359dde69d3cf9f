// The boxes of a graph's nodes, and how its layout uses the room that there is.

/** @typedef {"groups"|"tasks"} Kind */
/** @typedef {{column: number, row: number, aspect: number, shortest: number}} Room as of a layout's graph */

/** @type {Record<Kind, import("./painter.js").Box & {column: number, row: number}>} px of the graph */
export const BOXES = {
  groups: { width: 170, height: 30, column: 240, row: 44 },
  tasks: { width: 130, height: 22, column: 190, row: 32 },
};
const SMALL_SCREEN = 700; // px
const LEAST_READABLE = 0.4; // scale at which the boxes of groups have names
const LOWEST = 240; // px of a graph
const BETWEEN = 0.4; // of the distance between columns, on a narrow screen

/** @param {number} width px of the screen */
export function isNarrow(width) {
  return width < SMALL_SCREEN;
}

/**
 * On a narrow screen lines are short, so that names can be read.
 * @param {Kind} kind
 * @param {number} screen px
 * @returns {Room}
 */
export function roomOf(kind, screen) {
  const { width, column, row } = BOXES[kind];
  if (!isNarrow(screen)) return { column, row, aspect: 2, shortest: 12 };
  return { column: width + (column - width) * BETWEEN, row, aspect: 1, shortest: 2 };
}

/**
 * The scale from which on a graph is shown at first: on a narrow screen the begin of a large one, of which names can be read.
 * @param {Kind} kind
 * @param {number} screen px
 */
export function leastScale(kind, screen) {
  return kind === "groups" && isNarrow(screen) ? LEAST_READABLE : 0;
}

/**
 * As much as the whole graph needs in that width, and enough to look around in.
 * @param {import("./layered_layout.js").Layout} layout
 * @param {number} width px of the screen
 */
export function heightOf(layout, width) {
  const most = Math.min(window.innerHeight * 0.6, isNarrow(width) ? 380 : 620);
  return Math.round(
    Math.max(Math.min((layout.height / Math.max(layout.width, width)) * width + 40, most), LOWEST),
  );
}
