// The names beside the rows of the heat map: of workers where there is room, else of groups and of workers that stand out.

import { slotLabel } from "../../timeline/slots.js";
import { fitText } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { topOfRow } from "./heat_layout.js";

/** @typedef {import("../../timeline/slots.js").Slot} Slot */
/** @typedef {import("./heat_rows.js").Arrangement} Arrangement */
/** @typedef {import("./heat_layout.js").HeatLayout} HeatLayout */
/** @typedef {{left: number, top: number, width: number}} Place of the rows, in px */

const FONT = "11px system-ui, sans-serif";
const LINE = 13; // px
const ROOMY = 100; // px beside the rows: less is that of a phone
const LOWEST_GROUP = 4; // px: lower ones have no lines between them

/**
 * @param {CanvasRenderingContext2D} context
 * @param {HeatLayout} layout
 * @param {Arrangement} arrangement
 * @param {Slot[]} slots by row of the cells
 * @param {number[]} named rows of the cells that have their names in any case
 * @param {Place} place
 */
export function drawNames(context, layout, arrangement, slots, named, { left, top: offset, width }) {
  const colors = theme();
  const { sections, row, height, hasNames } = layout;
  const { order, groups } = arrangement;
  context.font = FONT;
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.strokeStyle = colors.border;
  context.strokeRect(left - 0.5, offset - 0.5, width + 1, height + 1);
  const write = (/** @type {string} */ text, /** @type {number} */ middle, /** @type {string} */ color) => {
    context.fillStyle = color;
    context.fillText(fitText(context, text, left - 10, true), left - 8, offset + middle);
  };
  if (hasNames) {
    for (const { first, count, top, label } of sections) {
      if (groups.length > 1) write(label, top - row / 2, colors.muted);
      for (let at = 0; at < count; at++)
        write(slotLabel(slots[order[first + at]]), top + (at + 0.5) * row, colors.text);
    }
  } else {
    /** @type {number[]} middles of names */
    const taken = [];
    const put = (/** @type {string} */ text, /** @type {number} */ middle, /** @type {string} */ color) => {
      const at = Math.min(Math.max(middle, LINE / 2), height - LINE / 2);
      if (taken.some((other) => Math.abs(other - at) < LINE)) return;
      taken.push(at);
      write(text, at, color);
    };
    for (const each of named) {
      const middle = (topOfRow(layout, arrangement, each) ?? 0) + row / 2;
      put(`${slotLabel(slots[each])} ▸`, middle, colors.danger);
    }
    if (groups.length > 1) drawGroups(context, arrangement, row, put, { left, top: offset, width });
  }
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Arrangement} arrangement
 * @param {number} row px
 * @param {(text: string, middle: number, color: string) => void} put
 * @param {Place} place
 */
function drawGroups(context, { groups }, row, put, { left, top, width }) {
  const colors = theme();
  for (const { label, first, count } of groups) {
    put(left < ROOMY ? label : `${label} (${count})`, (first + count / 2) * row, colors.text);
    if (!first || count * row < LOWEST_GROUP) continue;
    context.strokeStyle = colors.plot;
    context.beginPath();
    context.moveTo(left, Math.round(top + first * row) - 0.5);
    context.lineTo(left + width, Math.round(top + first * row) - 0.5);
    context.stroke();
  }
}

/**
 * Frames the row of the selected worker.
 * @param {CanvasRenderingContext2D} context
 * @param {HeatLayout} layout
 * @param {number|null} top px of the row; null: there is none
 * @param {Place} place
 */
export function drawChosen(context, layout, top, { left, top: offset, width }) {
  if (top === null) return;
  const height = Math.max(layout.row, 2);
  for (const [color, line] of /** @type {[string, number][]} */ ([
    [theme().plot, 3],
    [theme().accent, 1.5],
  ])) {
    context.strokeStyle = color;
    context.lineWidth = line;
    context.strokeRect(left - 1, offset + top - 1, width + 2, height + 2);
  }
  context.lineWidth = 1;
  context.fillStyle = theme().accent;
  context.beginPath();
  context.moveTo(left - 6, offset + top + height / 2 - 5);
  context.lineTo(left, offset + top + height / 2);
  context.lineTo(left - 6, offset + top + height / 2 + 5);
  context.fill();
}
