// How many threads computed at an instant, and what.

import { FIRST_PREFIX_SLOT, SLOT_COLORS, isOverlay } from "./actions.js";
import { visitBusy, visitSpans } from "./lanes/index.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../timeline/model.js").Model} Model */

const LEAST = 0.05; // threads: less is shown as 0

/**
 * @param {number[]} lanes
 * @param {Tile[]} tiles
 * @param {Model} model
 * @param {number} time
 * @param {number} pixel seconds a pixel: the numbers are means of the pixel around `time`
 * @returns {{threads: number, computing: number, prefixes: [slot: number, threads: number][]}} the most threads first
 */
export function busyAt(lanes, tiles, model, time, pixel) {
  const [start, stop] = [time - pixel / 2, time + pixel / 2];
  /** @type {Map<number, number>} */
  const bySlot = new Map();
  let computing = 0;
  const add = (/** @type {number} */ slot, /** @type {number} */ seconds) => {
    if (isOverlay(slot)) return;
    computing += seconds / pixel;
    bySlot.set(slot, (bySlot.get(slot) ?? 0) + seconds / pixel);
  };
  for (const tile of tiles) {
    if (tile.stop <= start || tile.start >= stop) continue;
    for (const lane of lanes) {
      visitSpans(tile, model, lane, start, stop, (_, __, slot, from, to) => add(slot, to - from));
      visitBusy(tile, model, lane, start, stop, (_, __, slot, ___, ____, seconds) => add(slot, seconds));
    }
  }
  const prefixes = [...bySlot]
    .filter(([, threads]) => threads >= LEAST)
    .sort((one, other) => other[1] - one[1]);
  return { threads: lanes.length, computing, prefixes };
}

/**
 * @param {number} slot of a span that computed
 * @param {Model} model
 * @returns {number|undefined} id of its prefix; undefined where it erred or is unknown
 */
export function prefixOfSlot(slot, model) {
  return model.prefixIds[slot - FIRST_PREFIX_SLOT];
}

/**
 * @param {number} slot of a span that computed
 * @param {Model} model
 * @returns {string} the colour of its prefix; black where it erred, grey where the prefix is not listed
 */
export function colorOfSlot(slot, model) {
  const id = prefixOfSlot(slot, model);
  return id === undefined ? SLOT_COLORS[slot] : model.color(id);
}
