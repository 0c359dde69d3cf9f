// Levels of detail: a bin of level L is 2^L microseconds wide, and a tile has TILE_BINS bins.

import { COARSEST_LEVEL, FINEST_LEVEL, SETTLING, TILE_BINS } from "../../contract.js";

const MICROSECONDS = 1e6;

/** @param {number} level; the width of its bins in seconds */
export function binWidth(level) {
  return 2 ** level / MICROSECONDS;
}

/** @param {number} level; the width of its tiles in seconds */
export function tileWidth(level) {
  return TILE_BINS * binWidth(level);
}

/**
 * The level whose bins are one to two pixels wide.
 * @param {number} seconds length of the window
 * @param {number} pixels width of the window
 * @param {number} [finest] level of the finest tiles that are useful
 */
export function levelFor(seconds, pixels, finest = FINEST_LEVEL) {
  const level = Math.ceil(Math.log2((seconds / Math.max(pixels, 1)) * MICROSECONDS));
  return Math.min(Math.max(level, FINEST_LEVEL, finest), COARSEST_LEVEL);
}

/**
 * The tile of a level in which a time lies.
 * @param {number} time
 * @param {number} level
 */
export function tileIndex(time, level) {
  return Math.floor(time / tileWidth(level));
}

/**
 * Whether all records of a tile are stored.
 * @param {number} stop of the tile
 * @param {{committed: number}} extent
 */
export function isClosed(stop, { committed }) {
  return stop < committed - SETTLING;
}
