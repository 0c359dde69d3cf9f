// Levels of detail: a bin of level L is 2^L microseconds wide, a tile holds TILE_BINS of them.

export const TILE_BINS = 512;
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
 * @param {number} seconds that are shown
 * @param {number} pixels that show them
 * @param {{minimum_level: number, maximum_level: number}} limits
 */
export function levelFor(seconds, pixels, limits) {
  const level = Math.ceil(Math.log2((seconds / Math.max(pixels, 1)) * MICROSECONDS));
  return Math.min(Math.max(level, limits.minimum_level), limits.maximum_level);
}

/**
 * The tile of a level in which a time lies.
 * @param {number} time
 * @param {number} level
 */
export function tileIndex(time, level) {
  return Math.floor(time / tileWidth(level));
}
