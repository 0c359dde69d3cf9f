// The call stacks that a worker's threads had around an instant, from the samples that Dask takes of them.

import { sumStacks } from "../flame_graph/tree.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../timeline/slots.js").Slot} Slot */

const AROUND = 2.5; // seconds before and after the instant

/**
 * Samples are reported in sums of some seconds, and zoomed out in bins: what is shown is at least one of them long.
 * @param {Tile[]} tiles of the profile
 * @param {number} at
 * @returns {{start: number, stop: number}}
 */
export function stretchAround(tiles, at) {
  const bins = tiles
    .filter((tile) => tile.start <= at && at < tile.stop)
    .flatMap((tile) =>
      (tile.blocks.get("profile") ?? []).map(({ meta }) =>
        meta.bins ? (tile.stop - tile.start) / meta.bins : 0,
      ),
    );
  const around = Math.max(AROUND, ...bins);
  return { start: at - around, stop: at + around };
}

/**
 * @param {Tile[]} tiles of the profile
 * @param {{start: number, stop: number}} stretch
 * @param {Slot} slot
 * @returns {{stack: number, count: number}[]} the most seen first
 */
export function stacksAt(tiles, stretch, slot) {
  const sums = sumStacks(tiles, stretch, { source: "tasks", slot, prefix: null });
  return [...sums]
    .map(([stack, count]) => ({ stack, count }))
    .sort((one, other) => other.count - one.count || one.stack - other.stack);
}
