// The parts of a window for which no tile has arrived. Nothing is known of them, which is not the same as nothing recorded.

/** @typedef {import("../../types.js").Tile} Tile */

/**
 * `message`: why there is nothing, for people.
 * @typedef {{start: number, stop: number, message: string, failed: boolean}} Unloaded
 */

/**
 * What tiles leave of an interval.
 * @param {number} start
 * @param {number} stop
 * @param {Tile[]} tiles in order of time, not overlapping
 * @param {string|null} reason why requests failed; null while the first is on its way
 * @returns {Unloaded[]}
 */
export function uncovered(start, stop, tiles, reason) {
  const why = {
    message: reason ? `not loaded: ${reason}; trying again` : "loading …",
    failed: reason !== null,
  };
  const parts = [];
  let from = start;
  for (const tile of tiles) {
    if (tile.start > from) parts.push({ start: from, stop: Math.min(tile.start, stop), ...why });
    from = Math.max(from, tile.stop);
  }
  if (from < stop) parts.push({ start: from, stop, ...why });
  return parts;
}

/**
 * Joins parts that touch or overlap. Where one of them failed, its message is that of all.
 * @param {Unloaded[]} parts
 * @returns {Unloaded[]} in order of time
 */
export function joined(parts) {
  /** @type {Unloaded[]} */
  const found = [];
  for (const part of [...parts].sort((one, other) => one.start - other.start)) {
    const last = found.at(-1);
    if (last && part.start <= last.stop + 1e-6) {
      last.stop = Math.max(last.stop, part.stop);
      if (part.failed && !last.failed) [last.message, last.failed] = [part.message, true];
    } else found.push({ ...part });
  }
  return found;
}
