// The names of workers and hosts beside their rows.

import { newest } from "../../../timeline/slots.js";
import { fitText } from "../../drawing/surface.js";
import { theme } from "../../drawing/theme.js";

/** @typedef {import("./rows.js").Group} Group */

export const LABEL_HEIGHT = 11; // px of rows that have room for a text
const FONT = "11px system-ui, sans-serif";
export const INDENT = 10; // px a depth
export const CARET = 16; // px of the names' left edge that fold and unfold

/**
 * Draws a worker's or a host's name and label beside its rows, and the line below them.
 * @param {CanvasRenderingContext2D} context
 * @param {Group} group
 * @param {{top: number, height: number, left: number, width: number}} place of its rows in the plot, in px
 * @param {import("./labels.js").LaneLabels} labels
 * @param {string|undefined} chosen the key of the selected worker's slot
 */
export function drawGroup(context, group, { top, height, left, width }, labels, chosen) {
  context.strokeStyle = theme().border;
  context.beginPath();
  context.moveTo(0, Math.round(top + height) - 0.5);
  context.lineTo(left + width, Math.round(top + height) - 0.5);
  context.stroke();
  labels.drawMark(context, group, top, height, left);
  if (height < LABEL_HEIGHT) return;
  context.font = FONT;
  const isChosen = group.slots.length === 1 && group.slots[0].key === chosen;
  drawGroupName(context, group, top + Math.min(height / 2, 40), left - labels.room, isChosen);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Group} group
 * @param {number} middle px
 * @param {number} left where the plot begins, in px
 * @param {boolean} isChosen whether the worker is selected
 */
function drawGroupName(context, group, middle, left, isChosen) {
  const colors = theme();
  context.textBaseline = "middle";
  context.fillStyle = isChosen ? colors.accent : colors.text;
  if (group.slots.every((slot) => newest(slot).ended !== null)) context.fillStyle = colors.muted;
  const indent = group.depth * INDENT;
  if (group.folds) context.fillText(group.isOpen ? "▾" : "▸", indent + 2, middle);
  const count = group.slots.length > 1 ? ` (${group.slots.length})` : "";
  const room = left - 6 - indent - (group.folds ? CARET : 0);
  const name = fitText(context, group.label + count, room, true);
  context.textAlign = "right";
  context.fillText(name, left - 4, middle);
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
}
