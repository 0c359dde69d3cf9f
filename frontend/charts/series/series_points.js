// The points of series, from the tiles that cover a window.

import { isTogether } from "../../timeline/tiles/bands.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Series} Series */

/**
 * What a series did, in order of time; one point a bin (or a sample, where bins are finer).
 * `hasBand`: some bin has several values. `gap`: seconds between two points beyond which the values between are unknown.
 * @typedef {{time: number[], mean: number[], min: number[], max: number[], gap: number,
 *   hasBand: boolean}} Points
 */

const GAP_INTERVALS = 3.5;

/**
 * @param {Tile[]} tiles; of each layer in order of time, not overlapping
 * @param {Map<number, Series>} wanted by id; a negative one stands for all workers' series of its kind
 * @returns {Map<number, Points>} by the series' id
 */
export function pointsOf(tiles, wanted) {
  /** @type {Map<number, Points>} */
  const found = new Map();
  for (const tile of tiles) {
    const sign = isTogether(tile.layer) ? -1 : 1;
    for (const block of tile.blocks.get("bin") ?? []) {
      const [series, time] = [block.numbers("series"), block.numbers("time")];
      const [mean, min, max] = [block.numbers("mean"), block.numbers("min"), block.numbers("max")];
      for (let row = 0; row < block.rows; row++) {
        const known = wanted.get(sign * series[row]);
        // a tile draws its own interval alone
        if (!known || time[row] < tile.start || time[row] >= tile.stop) continue;
        const points = found.get(known.id) ?? add(found, known);
        points.gap = Math.max(points.gap, known.interval + 1.5 * tile.binWidth);
        points.time.push(time[row]);
        points.mean.push(mean[row]);
        points.min.push(min[row]);
        points.max.push(max[row]);
        if (max[row] > min[row]) points.hasBand = true;
      }
    }
  }
  return found;
}

/**
 * @param {Map<number, Points>} found
 * @param {Series} series
 * @returns {Points}
 */
function add(found, series) {
  const points = { time: [], mean: [], min: [], max: [], gap: GAP_INTERVALS * series.interval, hasBand: false };
  found.set(series.id, points);
  return points;
}

/**
 * The place of the last point at or before a time; -1 when there is none.
 * @param {Points} points
 * @param {number} time
 */
export function placeAt(points, time) {
  let [low, high] = [0, points.time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points.time[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * The value at a time: that of the last point before it, unless that is a gap away.
 * @param {Points} points
 * @param {number} time
 * @returns {number|null}
 */
export function valueAt(points, time) {
  const place = placeAt(points, time);
  return place >= 0 && time - points.time[place] <= points.gap ? points.mean[place] : null;
}

/**
 * Points on top of each other: each becomes the sum of itself and those before it, at the times of all.
 * Where one isn't known, it counts as nothing; where none is, there is a gap.
 * @param {Points[]} layers from the bottom
 * @returns {{time: number[], tops: number[][], gap: number}} `tops[layer][place]`
 */
export function stack(layers) {
  const time = [...new Set(layers.flatMap((points) => points.time))].sort((one, other) => one - other);
  const gap = Math.max(0, ...layers.map((points) => points.gap));
  const sums = new Array(time.length).fill(0);
  const tops = layers.map((points) => {
    let place = 0;
    return time.map((at, index) => {
      while (place + 1 < points.time.length && points.time[place + 1] <= at) place += 1;
      const isKnown = points.time.length > 0 && points.time[place] <= at && at - points.time[place] <= points.gap;
      return (sums[index] += isKnown ? points.mean[place] : 0);
    });
  });
  return { time, tops, gap };
}
