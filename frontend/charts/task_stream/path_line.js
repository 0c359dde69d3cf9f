// The critical path on the task stream: a line from lane to lane, dashed where a task waited.

import { theme } from "../drawing/theme.js";

/** @typedef {import("../../types.js").Schemas["PieceOfPath"]} Piece */
/** @typedef {import("./lanes/rows.js").Layout} Layout */

const DASHES = [4, 3]; // px
const COMPUTING = ["computing", "recomputing", "failed"];

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Piece[]} pieces in order of time
 * @param {Layout} layout
 * @param {(time: number) => number} x px
 * @param {number} scroll px
 */
export function drawPath(context, pieces, { rows, height }, x, scroll) {
  const numbers = new Map(rows.flatMap(({ lanes }, number) => lanes.map((lane) => [lane, number])));
  const { text, plot } = theme();
  for (const [width, color] of /** @type {[number, string][]} */ ([
    [5, plot],
    [2, text],
  ])) {
    context.lineWidth = width;
    context.strokeStyle = color;
    /** @type {{x: number, y: number}|null} the end of the piece before */
    let before = null;
    for (const { kind, start, stop, lane } of pieces) {
      const number = lane === null ? undefined : numbers.get(lane);
      if (number === undefined) continue;
      const y = Math.round((number + 0.5) * height - scroll);
      if (before) stroke(context, [before.x, before.y], [x(start), y], []);
      before = { x: x(stop), y };
      stroke(context, [x(start), y], [before.x, y], COMPUTING.includes(kind) ? [] : DASHES);
    }
  }
  context.setLineDash([]);
  context.lineWidth = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} from
 * @param {[number, number]} to
 * @param {number[]} dashes
 */
function stroke(context, from, to, dashes) {
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}
