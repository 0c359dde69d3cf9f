// Hatches times without data.

import { hatching } from "./surface.js";
import { theme } from "./theme.js";

/** @typedef {import("../../timeline/events.js").Gap} Gap */

const NARROWEST = 2; // px

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
