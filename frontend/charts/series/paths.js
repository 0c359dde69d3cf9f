// Draws the points of series: lines with bands of their extremes, and stacked areas.

import { runsOf, visibleRuns } from "./series_points.js";

/** @typedef {import("./series_points.js").Points} Points */
/** Where instants and values are, in px. @typedef {{x: (time: number) => number, y: (value: number) => number}} Scales */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {ReturnType<typeof import("./series_points.js").stack>} stacked
 * @param {string[]} colors of the areas, the lowest first
 * @param {Scales} scales
 */
export function drawAreas(context, { time, tops, breaks }, colors, { x, y }) {
  const zero = new Array(time.length).fill(0);
  for (let layer = 0; layer < tops.length; layer++) {
    context.fillStyle = colors[layer];
    for (const [from, to] of runsOf(time, breaks)) {
      context.beginPath();
      for (let at = from; at <= to; at++) context.lineTo(x(time[at]), y(tops[layer][at]));
      const floor = layer ? tops[layer - 1] : zero;
      for (let at = to; at >= from; at--) context.lineTo(x(time[at]), y(floor[at]));
      context.fill();
    }
  }
}

/**
 * In the context's colours and width. A point without neighbours is a dot.
 * @param {CanvasRenderingContext2D} context
 * @param {Points} points
 * @param {{start: number, stop: number}} window
 * @param {Scales} scales
 */
export function drawLine(context, points, { start, stop }, scales) {
  const { x, y } = scales;
  const { time, mean } = points;
  for (const [from, to] of visibleRuns(points, start, stop)) {
    if (points.hasBand) drawBand(context, points, from, to, scales);
    context.beginPath();
    for (let at = from; at <= to; at++) context.lineTo(x(time[at]), y(mean[at]));
    if (from === to) context.arc(x(time[from]), y(mean[from]), 1, 0, 7);
    context.stroke();
  }
}

/**
 * What lies between the least and the largest value of each bin: peaks stay in sight when zoomed out.
 * @param {CanvasRenderingContext2D} context
 * @param {Points} points
 * @param {number} from
 * @param {number} to
 * @param {Scales} scales
 */
function drawBand(context, { time, min, max }, from, to, { x, y }) {
  const alpha = context.globalAlpha;
  context.globalAlpha = alpha * 0.25;
  context.beginPath();
  for (let at = from; at <= to; at++) context.lineTo(x(time[at]), y(max[at]));
  for (let at = to; at >= from; at--) context.lineTo(x(time[at]), y(min[at]));
  context.fill();
  context.globalAlpha = alpha;
}
