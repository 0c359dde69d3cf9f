// Levels of detail: a bin of level L is 2^L microseconds wide, and a tile has TILE_BINS bins.

import {
  BINS_PER_INTERVAL,
  COARSEST_LEVEL,
  FINEST_LEVEL,
  FINEST_PROFILE_LEVEL,
  SETTLING,
  TILE_BINS,
} from "../../contract.js";
import { layerName } from "./bands.js";

const MICROSECONDS = 1e6;
const SPAN_LAYERS = ["spans", "prefixes"];

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
 * The finest level of a layer that is useful; a file doesn't have all.
 * @param {string} layer
 * @param {{identity_interval: number, minimum_level: number, minimum_span_level: number}} info
 */
export function finestLevel(layer, { identity_interval, minimum_level, minimum_span_level }) {
  const name = layerName(layer);
  if (SPAN_LAYERS.includes(name)) return minimum_span_level;
  if (name === "events") return minimum_level;
  if (name === "profile") return Math.max(FINEST_PROFILE_LEVEL, minimum_level);
  // finer bins of a series hold no more than its samples
  return Math.max(
    Math.ceil(Math.log2((identity_interval / BINS_PER_INTERVAL) * MICROSECONDS)),
    minimum_level,
  );
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
