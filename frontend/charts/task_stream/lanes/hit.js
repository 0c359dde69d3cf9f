// Finds what is under the mouse on a lane: one span, or the sum of many in a pixel column.

import { BLOCKS } from "../../../contract.js";
import { COMPUTE } from "../actions.js";
import { visitBusy, visitSpans } from "./index.js";
import { coloredPrefixes } from "./worker_sums.js";

/** @typedef {import("../../../types.js").Tile} Tile */
/** @typedef {import("../../../types.js").Block} Block */
/** @typedef {import("../../../timeline/model.js").Model} Model */

/** @typedef {import("../../../contract.js").Span} SpanHit */
/**
 * @typedef {{prefix: number, action: number, seconds: number, count: number}} Share
 * `lanes` are those that hold it.
 * @typedef {{span: SpanHit|null, shares: Share[], lanes: number[], seconds: number, start: number, stop: number}} Hit
 */

/**
 * @param {Tile[]} tiles
 * @param {Model} model
 * @param {{lanes: number[], threads: number}} row
 * @param {number} time
 * @param {number} pixel seconds a pixel
 * @param {Set<number>} hidden prefixes
 * @returns {Hit|null} `shares`, the longest first, is what [start, stop) holds; null where there is nothing
 */
export function hitLanes(tiles, model, { lanes, threads }, time, pixel, hidden = new Set()) {
  const [start, stop] = interval(tiles, model, lanes, time, pixel);
  /** @type {SpanHit|null} */
  let span = null;
  /** @type {SpanHit|null} */
  let only = null;
  /** @type {Map<string, Share>} */
  const shares = new Map();
  /** @type {Set<number>} */
  const found = new Set();
  const add = (
    /** @type {Block} */ block,
    /** @type {number} */ row,
    /** @type {number} */ seconds,
    count = 1,
  ) => {
    const [prefix, action] = [block.numbers("prefix")[row], block.numbers("action")[row]];
    found.add(block.numbers("lane")[row]);
    const share = shares.get(`${prefix} ${action}`) ?? { prefix, action, seconds: 0, count: 0 };
    share.seconds += seconds;
    share.count += count;
    shares.set(`${prefix} ${action}`, share);
  };
  for (const tile of tiles) {
    for (const lane of lanes) {
      visitSpans(tile, model, lane, start, stop, (block, row, _, from, to) => {
        if (hidden.has(coloredPrefixes(block)[row])) return;
        add(block, row, to - from);
        only = spanAt(block, row);
        const isLong = threads === 1 && only.stop - only.start >= 2 * pixel;
        if (isLong && only.start <= time && time < only.stop) span = closer(span, only);
      });
      visitBusy(tile, model, lane, start, stop, (block, row, _, __, ___, seconds) => {
        if (!hidden.has(coloredPrefixes(block)[row])) add(block, row, seconds, block.numbers("count")[row]);
      });
    }
  }
  if (!shares.size) return null;
  const list = [...shares.values()].sort((one, other) => other.seconds - one.seconds);
  const single = list.length === 1 && list[0].count === 1 ? only : null;
  const seconds = list.reduce((sum, share) => sum + (share.action === COMPUTE ? share.seconds : 0), 0);
  return { span: span ?? single, shares: list, lanes: [...found], seconds, start, stop };
}

/**
 * The bin that a time lies in, else the pixel around it.
 * @param {Tile[]} tiles
 * @param {Model} model
 * @param {number[]} lanes
 * @param {number} time
 * @param {number} pixel
 * @returns {[number, number]}
 */
function interval(tiles, model, lanes, time, pixel) {
  /** @type {[number, number]} */
  let found = [time - pixel, time + pixel];
  for (const tile of tiles) {
    for (const lane of lanes) {
      visitBusy(tile, model, lane, time - pixel / 2, time + pixel / 2, () => {
        const bin = Math.floor(time / tile.binWidth) * tile.binWidth;
        if (tile.binWidth > pixel) found = [bin, bin + tile.binWidth];
      });
    }
  }
  return found;
}

/**
 * Of two spans over each other, what the thread computes hides less than what was done beside it: the later one wins.
 * @param {SpanHit|null} one
 * @param {SpanHit} other
 */
function closer(one, other) {
  return one === null || other.start >= one.start ? other : one;
}

/**
 * @param {Block} block of kind span
 * @param {number} row
 * @returns {SpanHit}
 */
function spanAt(block, row) {
  const values = Object.entries(BLOCKS.span).map(([name, type]) => {
    const column = /** @type {any} */ (name);
    return [name, type === "text" ? block.texts(column).at(row) : block.numbers(column)[row]];
  });
  return Object.fromEntries(values);
}
