// Dots in the parts of the rows for which no tiles have arrived.

import { drawUnloaded } from "../../drawing/unloaded.js";

/** @typedef {import("./rows.js").Layout} Layout */
/** @typedef {import("./lane_tiles.js").LaneTiles} LaneTiles */

/**
 * Rows of the same tiles are dotted together.
 * @param {CanvasRenderingContext2D} context
 * @param {LaneTiles} tiles
 * @param {Layout} layout
 * @param {{x: (time: number) => number, range: [number, number], scroll: number, height: number}} place px
 */
export function drawUnloadedRows(context, tiles, { rows, height }, place) {
  const { layers } = tiles;
  if (layers.length === 1) return drawRows(context, tiles.unloaded(layers), [0, rows.length], height, place);
  const layersOf = rows.map((row) => tiles.layersOf(row));
  for (let first = 0, last = 1; first < rows.length; first = last, last += 1) {
    while (last < rows.length && `${layersOf[last]}` === `${layersOf[first]}`) last += 1;
    drawRows(context, tiles.unloaded(layersOf[first]), [first, last], height, place);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {ReturnType<LaneTiles["unloaded"]>} parts
 * @param {[number, number]} rows first and one after the last
 * @param {number} step px of a row
 * @param {{x: (time: number) => number, range: [number, number], scroll: number, height: number}} place px
 */
function drawRows(context, parts, [first, last], step, { x, range, scroll, height }) {
  const top = Math.max(first * step - scroll, 0);
  const bottom = Math.min(last * step - scroll, height);
  if (bottom > top) drawUnloaded(context, parts, x, range, top, bottom - top);
}
