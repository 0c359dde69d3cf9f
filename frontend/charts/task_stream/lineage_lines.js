// The lineage of the selected task on the task stream: outlines around its spans and those of its relatives, and lines
// with arrowheads from the end of a span to the start of one that needed its result. Lines of transfers are dashed.

import { theme } from "../drawing/theme.js";

/** @typedef {import("../../timeline/tasks/lineage.js").Lineage} Lineage */
/** @typedef {import("../../timeline/tasks/lineage.js").Line} Line */
/** @typedef {import("../../timeline/tasks/lineage.js").Span} Span */
/** @typedef {import("./lanes/rows.js").Layout} Layout */

/**
 * Where things are on the chart: `x` of a time, `row` of a lane (null: it has none), in px.
 * @typedef {{x: (time: number) => number, row: (lane: number) => {top: number, height: number}|null}} Places
 */

const NARROWEST = 3; // px of an outline
const HEAD = 5; // px: length of an arrowhead
const DASHES = [6, 3]; // px
const BEND = 40; // px: at most, how far a line goes on horizontally at its ends

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Lineage} lineage
 * @param {Layout} layout
 * @param {(time: number) => number} x px
 * @param {number} scroll px
 */
export function drawLineage(context, { current, lines, transferLines }, { rows, height }, x, scroll) {
  if (!current) return;
  const numbers = new Map(rows.flatMap(({ lanes }, number) => lanes.map((lane) => [lane, number])));
  const row = (/** @type {number} */ lane) => {
    const number = numbers.get(lane);
    return number === undefined ? null : { top: number * height - scroll, height };
  };
  const places = { x, row };
  const { text, plot, accent } = theme();
  for (const { spans } of [...current.dependencies.tasks, ...current.dependents.tasks]) {
    for (const span of spans) outline(context, span, places, [3, plot], [1, accent]);
  }
  for (const span of current.spans) outline(context, span, places, [4, plot], [2, text]);
  arrows(context, lines, places, plot, accent);
  context.setLineDash(DASHES);
  arrows(context, transferLines, places, plot, text);
  context.setLineDash([]);
  context.lineWidth = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Span} span
 * @param {Places} places
 * @param {...[number, string]} strokes widths in px and colours, one over the other
 */
function outline(context, { lane, start, stop }, { x, row }, ...strokes) {
  const place = row(lane);
  if (!place) return;
  const [left, right] = [x(start), x(stop)];
  for (const [width, color] of strokes) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.strokeRect(
      left,
      place.top + 0.5,
      Math.max(right - left, NARROWEST),
      Math.max(place.height - 2, 1),
    );
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Line[]} lines
 * @param {Places} places
 * @param {string} below colour of wider lines below, so that the lines are seen on any task
 * @param {string} color
 */
function arrows(context, lines, places, below, color) {
  for (const [width, of] of /** @type {[number, string][]} */ ([
    [4, below],
    [1.5, color],
  ])) {
    context.strokeStyle = context.fillStyle = of;
    context.lineWidth = width;
    for (const line of lines) arrow(context, line, places);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Line} line
 * @param {Places} places
 */
function arrow(context, { from, to }, { x, row }) {
  const [begin, end] = [row(from.lane), row(to.lane)];
  if (!begin || !end) return;
  const [left, right] = [x(from.time), x(to.time)];
  const [top, bottom] = [begin.top + begin.height / 2, end.top + end.height / 2];
  const bend = Math.min(Math.max((right - left) / 2, HEAD), BEND);
  context.beginPath();
  context.moveTo(left, top);
  context.bezierCurveTo(left + bend, top, right - HEAD - bend, bottom, right - HEAD, bottom);
  context.stroke();
  context.beginPath();
  context.moveTo(right, bottom);
  context.lineTo(right - HEAD, bottom - HEAD / 1.5);
  context.lineTo(right - HEAD, bottom + HEAD / 1.5);
  context.closePath();
  context.fill();
  if (context.lineWidth > 2) context.stroke();
}
