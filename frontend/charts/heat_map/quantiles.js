// The quantiles of all workers in each column of the heat map, and the chart of them above it.

import { theme } from "../drawing/theme.js";
import { drawAxis, ticks } from "../series/value_axis.js";

/** @typedef {import("./cells.js").Cells} Cells */
/** @typedef {import("../series/value_axis.js").Unit} Unit */
/** @typedef {{low: Float64Array, middle: Float64Array, high: Float64Array}} Quantiles by column; NaN where nothing is known */

const SHARES = [0.05, 0.5, 0.95];
export const BANDS_HEIGHT = 64; // px
const [TOP, BOTTOM] = [6, 4];

/** @param {Cells} cells @returns {Quantiles} */
export function quantilesOf({ grid, values }) {
  const [low, middle, high] = SHARES.map(() => new Float64Array(grid.columns).fill(NaN));
  const buffer = new Float64Array(grid.slots.length);
  for (let column = 0; column < grid.columns; column++) {
    let count = 0;
    for (let cell = column; cell < values.length; cell += grid.columns)
      if (!Number.isNaN(values[cell])) buffer[count++] = values[cell];
    if (!count) continue;
    const sorted = buffer.subarray(0, count).sort();
    [low, middle, high].forEach((quantile, at) => (quantile[column] = between(sorted, SHARES[at])));
  }
  return { low, middle, high };
}

/**
 * @param {Float64Array} sorted not empty
 * @param {number} share 0 to 1
 */
function between(sorted, share) {
  const place = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return low + (high - low) * (place - Math.floor(place));
}

/**
 * Draws the band from 5 % to 95 %, the median, and the line of a chosen worker.
 * @param {CanvasRenderingContext2D} context
 * @param {Quantiles} quantiles
 * @param {Float64Array|null} chosen values by column
 * @param {Unit} unit
 * @param {{first: number, last: number, x: (column: number) => number, range: [number, number]}} columns in sight
 */
export function drawQuantiles(context, { low, middle, high }, chosen, unit, { first, last, x, range }) {
  let peak = 0;
  for (let column = first; column <= last; column++) {
    for (const values of chosen ? [high, chosen] : [high]) if (values[column] > peak) peak = values[column];
  }
  const marks = ticks(peak, unit);
  const y = (/** @type {number} */ value) =>
    BANDS_HEIGHT - BOTTOM - (value / marks[marks.length - 1]) * (BANDS_HEIGHT - TOP - BOTTOM);
  drawAxis(context, marks, unit, y, range, TOP);
  const colors = theme();
  context.save();
  context.beginPath();
  context.rect(range[0], 0, range[1] - range[0], BANDS_HEIGHT);
  context.clip();
  for (let column = first; column <= last; column++) {
    if (Number.isNaN(high[column])) continue;
    const [left, right] = [x(column), x(column + 1)];
    context.globalAlpha = 0.25;
    context.fillStyle = colors.accent;
    context.fillRect(left, y(high[column]), right - left, Math.max(y(low[column]) - y(high[column]), 1));
  }
  context.globalAlpha = 1;
  drawSteps(context, middle, colors.accent, 1.5, first, last, x, y);
  if (chosen) drawSteps(context, chosen, colors.text, 2.2, first, last, x, y);
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Float64Array} values
 * @param {string} color
 * @param {number} width px
 * @param {number} first
 * @param {number} last
 * @param {(column: number) => number} x
 * @param {(value: number) => number} y
 */
function drawSteps(context, values, color, width, first, last, x, y) {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  let isJoined = false;
  for (let column = first; column <= last; column++) {
    const value = values[column];
    if (Number.isNaN(value)) isJoined = false;
    else {
      if (isJoined) context.lineTo(x(column), y(value));
      else context.moveTo(x(column), y(value));
      context.lineTo(x(column + 1), y(value));
      isJoined = true;
    }
  }
  context.stroke();
  context.lineWidth = 1;
}
