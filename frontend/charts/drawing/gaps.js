// Hatches times without data, and labels stretches of time.

import { fitText, hatching } from "./surface.js";
import { theme } from "./theme.js";

/** @typedef {import("../../timeline/marks/events.js").Gap} Gap */

const NARROWEST = 2; // px
const NARROWEST_LABELLED = 60; // px
const LABEL_HEIGHT = 18; // px
const FONT = "11px system-ui, sans-serif";

/**
 * Hatches each gap and returns where: [gap, from, to] in px.
 * @param {CanvasRenderingContext2D} context
 * @param {Gap[]} gaps
 * @param {(time: number) => number} x
 * @param {[number, number]} range of x that is drawn
 * @param {number} top
 * @param {number} height
 * @param {number} end of the cluster, where a gap is still open
 * @returns {[Gap, number, number][]}
 */
export function drawGaps(context, gaps, x, range, top, height, end) {
  /** @type {[Gap, number, number][]} */
  const drawn = [];
  context.fillStyle = hatching(context, theme().warning);
  for (const gap of gaps) {
    const from = Math.max(x(gap.start), range[0]);
    const to = Math.min(Math.max(x(gap.stop ?? end), from + NARROWEST), range[1]);
    if (to <= from) continue;
    context.fillRect(from, top, to - from, height);
    drawn.push([gap, from, to]);
  }
  return drawn;
}

/**
 * Hatches each gap and writes in its middle what is missing.
 * @param {CanvasRenderingContext2D} context
 * @param {Gap[]} gaps
 * @param {(time: number) => number} x
 * @param {[number, number]} range of x that is drawn
 * @param {number} height
 * @param {number} end of the cluster, where a gap is still open
 */
export function drawLabelledGaps(context, gaps, x, range, height, end) {
  for (const [gap, from, to] of drawGaps(context, gaps, x, range, 0, height, end))
    label(context, gap.label, from, to, height / 2, theme().warning);
}

/**
 * Writes a text in the middle of a stretch, shortened to fit; nothing where it is too narrow.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} from px
 * @param {number} to px
 * @param {number} middle px, of the height
 * @param {string} color
 */
export function label(context, text, from, to, middle, color) {
  if (to - from < NARROWEST_LABELLED) return;
  context.font = FONT;
  const fitting = fitText(context, text, to - from - 10);
  if (!fitting) return;
  const width = context.measureText(fitting).width + 10;
  const center = (from + to) / 2;
  context.fillStyle = theme().surface;
  context.fillRect(center - width / 2, middle - LABEL_HEIGHT / 2, width, LABEL_HEIGHT);
  context.fillStyle = color;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillText(fitting, center, middle + 4);
  context.textAlign = "start";
}
