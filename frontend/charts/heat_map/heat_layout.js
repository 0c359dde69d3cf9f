// Where the rows of the heat map are. All fit: with names where there is room, else as low as they have to be.

import { rowsOfLine } from "./colors.js";

/** @typedef {import("./heat_rows.js").Arrangement} Arrangement */
/**
 * Rows that are drawn together: lines `first` to `first + count` of the image, from `top` on. A named one has a heading.
 * @typedef {{first: number, count: number, top: number, height: number, label: string}} Section
 * `lines` of the image; `row` is the height of a row, in px.
 * @typedef {{sections: Section[], lines: number, row: number, height: number, hasNames: boolean}} HeatLayout
 */

const NAMED_ROW = 13; // px: of a row whose name can be read
const HIGHEST_ROW = 20;

/**
 * @param {Arrangement} arrangement
 * @param {number} room px
 * @param {number} ratio pixels of the screen in one
 * @returns {HeatLayout}
 */
export function heatLayout({ order, groups }, room, ratio) {
  const headings = groups.length > 1 ? groups.length : 0;
  const named = order.length + headings;
  if (named * NAMED_ROW <= room) {
    const row = Math.min(Math.floor(room / Math.max(named, 1)), HIGHEST_ROW);
    const sections = groups.map(({ label, first, count }, at) => {
      const top = (first + (headings ? at + 1 : 0)) * row;
      return { first, count, top, height: count * row, label };
    });
    return { sections, lines: order.length, row, height: named * row, hasNames: true };
  }
  const row = Math.min(room / order.length, NAMED_ROW - 1);
  const height = Math.round(row * order.length);
  const lines = Math.min(order.length, Math.floor(height * ratio));
  return {
    sections: [{ first: 0, count: lines, top: 0, height, label: "" }],
    lines,
    row,
    height,
    hasNames: false,
  };
}

/**
 * The rows at a height: several where they share a line.
 * @param {HeatLayout} layout
 * @param {Arrangement} arrangement
 * @param {number} y px
 * @returns {number[]} none on a heading
 */
export function rowsAt({ sections, lines }, { order }, y) {
  const section = sections.find(({ top, height }) => y >= top && y < top + height);
  if (!section) return [];
  const line = section.first + Math.floor(((y - section.top) / section.height) * section.count);
  return rowsOfLine(order, line, lines);
}

/**
 * @param {HeatLayout} layout
 * @param {Arrangement} arrangement
 * @param {number} row of the cells
 * @returns {number|null} px of its top
 */
export function topOfRow({ sections, row: height, hasNames }, { order }, row) {
  const place = order.indexOf(row);
  if (place < 0) return null;
  const section = hasNames
    ? sections.find(({ first, count }) => place >= first && place < first + count)
    : sections[0];
  return section ? section.top + (place - section.first) * height : null;
}
