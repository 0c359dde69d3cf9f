// The names of lines at their ends: none over another one, none cut off.

import { fitText } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";

/**
 * A rectangle in px; `y` is its middle.
 * @typedef {{x: number, y: number, width: number}} Place
 */

const HEIGHT = 13; // px
const GAP = 4; // px between a name and the plot's edge
const ABOVE = 9; // px from a line to its name
const WIDEST = 0.4; // of the plot

/**
 * Moves labels up or down, as little as possible, to where nothing else is.
 * @param {Place[]} labels
 * @param {Place[]} taken by other texts
 * @param {number} height px of the chart
 * @returns {(number|null)[]} the middle of each; null for one that has no room
 */
export function placeLabels(labels, taken, height) {
  const places = [...taken];
  return labels.map(({ x, y, width }) => {
    const isFree = (/** @type {number} */ middle) =>
      middle >= HEIGHT / 2 &&
      middle <= height - HEIGHT / 2 &&
      places.every(
        (other) => Math.abs(other.y - middle) >= HEIGHT || other.x >= x + width || other.x + other.width <= x,
      );
    for (let distance = 0; distance <= height; distance++) {
      const middle = [y - distance, y + distance].find(isFree);
      if (middle === undefined) continue;
      places.push({ x, y: middle, width });
      return middle;
    }
    return null;
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{label: string, color: string, x: number, y: number}[]} ends of lines
 * @param {Place[]} taken
 * @param {[number, number]} range of x that is drawn
 * @param {number} height px of the chart
 */
export function drawEndLabels(context, ends, taken, [left, right], height) {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "middle";
  const labels = ends.map(({ label, x, y }) => {
    const text = fitText(context, label, WIDEST * (right - left), true);
    const width = context.measureText(text).width;
    const above = y > 2 * ABOVE ? y - ABOVE : y + ABOVE;
    return { text, width, y: above, x: Math.min(Math.max(x - width, left + GAP), right - GAP - width) };
  });
  placeLabels(labels, taken, height).forEach((middle, number) => {
    const { text, x, width } = labels[number];
    if (middle === null || !text) return;
    context.fillStyle = theme().background; // no line goes through the name
    context.fillRect(x - 2, middle - HEIGHT / 2, width + 4, HEIGHT);
    context.fillStyle = ends[number].color;
    context.fillText(text, x, middle);
  });
}
