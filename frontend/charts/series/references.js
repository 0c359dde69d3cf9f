// Values that a chart's lines are compared with, such as a worker's memory limit: dashed lines with a label.

import { theme } from "../drawing/theme.js";

/** @typedef {{value: number, label: string, color: "danger"|"warning"|"muted"}} Reference */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Reference[]} references those on the chart
 * @param {(value: number) => number} y
 * @param {number} left px
 * @param {number} right px
 * @returns {import("./end_labels.js").Place[]} where the labels are
 */
export function drawReferences(context, references, y, left, right) {
  const colors = theme();
  const shown = references.map((reference) => ({ ...reference, y: Math.round(y(reference.value)) + 0.5 }));
  context.setLineDash([4, 3]);
  for (const { y, color } of shown) {
    context.strokeStyle = colors[color];
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.stroke();
  }
  context.setLineDash([]);
  context.textAlign = "left";
  context.textBaseline = "middle";
  let x = left + 4;
  const places = [];
  for (const { y, label, color } of shown) {
    const width = context.measureText(label).width;
    const middle = y > 14 ? y - 8 : y + 8;
    context.fillStyle = colors.background; // no line goes through the label
    context.fillRect(x - 3, middle - 6, width + 6, 12);
    context.fillStyle = colors[color];
    context.fillText(label, x, middle);
    places.push({ x: x - 3, y: middle, width: width + 6 });
    x += width + 14; // labels of close lines stand beside each other
  }
  return places;
}
