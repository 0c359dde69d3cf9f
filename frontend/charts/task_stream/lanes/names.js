// The names of workers and hosts beside their rows.

import { newest } from "../../../timeline/slots.js";
import { fitText } from "../../drawing/surface.js";
import { theme } from "../../drawing/theme.js";

/** @typedef {import("./rows.js").Group} Group */

export const INDENT = 10; // px a depth
export const CARET = 16; // px of the names' left edge that fold and unfold

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Group} group
 * @param {number} middle px
 * @param {number} left where the plot begins, in px
 * @param {boolean} isChosen whether the worker is selected
 */
export function drawGroupName(context, group, middle, left, isChosen) {
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
