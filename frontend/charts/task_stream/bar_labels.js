// The names of prefixes on the bars of the task stream.

import { fitText } from "../drawing/surface.js";
import { rgb } from "../drawing/theme.js";

/** @typedef {import("./lanes/paint.js").Bar} Bar */
/** @typedef {import("../../timeline/model.js").Model} Model */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Bar[]} bars wide enough for a label
 * @param {Model} model
 * @param {number} left where the plot begins, in px
 * @param {number} ratio the bars' pixels a px
 */
export function drawBarLabels(context, bars, model, left, ratio) {
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const bar of bars) {
    const prefix = bar.block.numbers("prefix")[bar.row];
    const inset = bar.inset ?? 0;
    const [x, width] = [left + (bar.left + inset) / ratio, (bar.width - inset) / ratio];
    const erred = bar.block.numbers("status")[bar.row] !== 0;
    context.fillStyle = erred || isDark(model.color(prefix)) ? "#ffffff" : "#000000";
    const text = fitText(context, `${erred ? "✕ " : ""}${model.prefixName(prefix)}`, width - 8);
    if (text) context.fillText(text, x + 5, (bar.top + bar.height / 2) / ratio + 0.5);
  }
  context.textBaseline = "alphabetic";
}

/** @param {string} color "#rrggbb" */
export function isDark(color) {
  const [red, green, blue] = rgb(color);
  return red * 0.299 + green * 0.587 + blue * 0.114 < 140;
}
