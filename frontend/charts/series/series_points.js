// The points of series, from the tiles that cover a window.

import { isTogether } from "../../timeline/tiles/bands.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Series} Series */

/**
 * What a series did, in order of time; one point a bin (or a sample, where bins are finer).
 * `hasBand`: some bin has several values. `breaks`: places of the points that are not joined to the next one; the last point
 * is one of them. After those, a value holds for `reach` seconds. After `due` seconds the next one was due.
 * @typedef {{time: number[], mean: number[], min: number[], max: number[], reach: number, due: number, breaks: Set<number>,
 *   hasBand: boolean}} Points
 * Times of which no samples were recorded: of the cluster, or of one worker, of which others can have been.
 * @typedef {{start: number, stop: number|null, worker: number|null}[]} Gaps
 */

const REACH_INTERVALS = 3.5;
const DUE_INTERVALS = 2;

/**
 * @param {Tile[]} tiles; of each layer in order of time, not overlapping
 * @param {Map<number, Series>} wanted by id; a negative one stands for all workers' series of its kind
 * @param {Gaps} gaps
 * @returns {Map<number, Points>} by the series' id
 */
export function pointsOf(tiles, wanted, gaps) {
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
        points.reach = Math.max(points.reach, known.interval + 1.5 * tile.binWidth);
        points.due = Math.max(points.due, known.interval + 1.5 * tile.binWidth);
        points.time.push(time[row]);
        points.mean.push(mean[row]);
        points.min.push(min[row]);
        points.max.push(max[row]);
        if (max[row] > min[row]) points.hasBand = true;
      }
    }
  }
  for (const [id, points] of found) {
    const worker = wanted.get(id)?.worker ?? null;
    const own = gaps.filter((gap) => gap.worker === null || gap.worker === worker);
    points.breaks = breaksOf(points.time, points.reach, own, points.due);
  }
  return found;
}

/**
 * Where a line is interrupted: only where a gap in the recording is known. Samples that merely came late are joined.
 * @param {number[]} time
 * @param {number} reach seconds; points this close are joined, because samples continued in the gap
 * @param {Gaps} gaps
 * @param {number} [due] seconds; the same in a gap of one worker, whose bounds are those of its own answers
 * @returns {Set<number>} places of the last points before gaps, and of the last point
 */
export function breaksOf(time, reach, gaps, due = reach) {
  /** @type {Set<number>} */
  const breaks = new Set();
  for (let place = 0; place < time.length; place++) {
    const [from, to] = [time[place], time[place + 1] ?? Infinity];
    const isBreak = gaps.some(
      ({ start, stop, worker }) =>
        to - from > (worker === null ? reach : due) && start <= to && (stop ?? Infinity) >= from,
    );
    if (to === Infinity || isBreak) breaks.add(place);
  }
  return breaks;
}

/**
 * The runs of points that are joined: [first, last] places.
 * @param {number[]} time
 * @param {Set<number>} breaks
 * @returns {[number, number][]}
 */
export function runsOf(time, breaks) {
  /** @type {[number, number][]} */
  const runs = [];
  let from = 0;
  for (let place = 0; place < time.length; place++) {
    if (!breaks.has(place) && place + 1 < time.length) continue;
    runs.push([from, place]);
    from = place + 1;
  }
  return runs;
}

/**
 * The runs within a window, with a point beyond each edge that lines go on to.
 * @param {Points} points
 * @param {number} start
 * @param {number} stop
 * @returns {[number, number][]}
 */
export function visibleRuns(points, start, stop) {
  const [first, last] = [placeAt(points, start), placeAt(points, stop) + 1];
  return runsOf(points.time, points.breaks)
    .filter(([from, to]) => to >= first && from <= last)
    .map(([from, to]) => [Math.max(from, first), Math.min(to, last)]);
}

/**
 * @param {Map<number, Points>} found
 * @param {Series} series
 * @returns {Points}
 */
function add(found, series) {
  /** @type {Points} */
  const points = {
    time: [],
    mean: [],
    min: [],
    max: [],
    reach: REACH_INTERVALS * series.interval,
    due: DUE_INTERVALS * series.interval,
    breaks: new Set(),
    hasBand: false,
  };
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
 * The value at a time: that of the last point before it, unless there is a gap between them.
 * @param {Points} points
 * @param {number} time
 * @returns {number|null}
 */
export function valueAt(points, time) {
  const place = placeAt(points, time);
  return holds(points, place, time) ? points.mean[place] : null;
}

/**
 * True while the value of a point is known to be that of a later time.
 * @param {Points} points
 * @param {number} place
 * @param {number} time
 */
export function holds({ time: times, breaks, reach }, place, time) {
  return place >= 0 && (!breaks.has(place) || time - times[place] <= reach);
}

/**
 * Points on top of each other: each becomes the sum of itself and those before it, at the times of all.
 * Where one isn't known, it counts as nothing; where none is, there is a gap.
 * @param {Points[]} layers from the bottom
 * @param {Gaps} gaps
 * @returns {{time: number[], tops: number[][], breaks: Set<number>}} `tops[layer][place]`
 */
export function stack(layers, gaps) {
  const time = [...new Set(layers.flatMap((points) => points.time))].sort((one, other) => one - other);
  const [reach, due] = [layers.map((points) => points.reach), layers.map((points) => points.due)];
  const breaks = breaksOf(time, Math.min(...reach), gaps, Math.min(...due));
  const sums = new Array(time.length).fill(0);
  const tops = layers.map((points) => {
    let place = 0;
    return time.map((at, index) => {
      while (place + 1 < points.time.length && points.time[place + 1] <= at) place += 1;
      const isKnown = points.time.length > 0 && points.time[place] <= at && holds(points, place, at);
      return (sums[index] += isKnown ? points.mean[place] : 0);
    });
  });
  return { time, tops, breaks };
}

/**
 * The points of the sum of several series.
 * @param {Points[]} parts none empty
 * @param {Gaps} gaps
 * @returns {Points}
 */
export function sumPoints(parts, gaps) {
  const { time, tops, breaks } = stack(parts, gaps);
  const sum = tops[tops.length - 1];
  const [reach, due] = [
    Math.max(...parts.map((part) => part.reach)),
    Math.max(...parts.map((part) => part.due)),
  ];
  return { time, mean: sum, min: [...sum], max: [...sum], reach, due, breaks, hasBand: false };
}

/**
 * The points of one line from those of several series, such as of a worker's lifetimes: one after the other, not joined.
 * Where two overlap, the later one is drawn.
 * @param {Points[]} parts in order of their starts, none empty
 * @returns {Points}
 */
export function joinPoints(parts) {
  if (parts.length === 1) return parts[0];
  /** @type {Points} */
  const joined = {
    ...parts[0],
    time: [],
    mean: [],
    min: [],
    max: [],
    breaks: new Set(),
    hasBand: parts.some((part) => part.hasBand),
  };
  parts.forEach(({ time, mean, min, max, breaks, reach, due }, number) => {
    const next = parts[number + 1]?.time[0] ?? Infinity;
    const count = time.findIndex((at) => at >= next);
    const end = count < 0 ? time.length : count;
    const before = joined.time.length;
    for (const place of breaks) if (place < end) joined.breaks.add(before + place);
    if (end) joined.breaks.add(before + end - 1);
    joined.time.push(...time.slice(0, end));
    joined.mean.push(...mean.slice(0, end));
    joined.min.push(...min.slice(0, end));
    joined.max.push(...max.slice(0, end));
    joined.reach = Math.max(joined.reach, reach);
    joined.due = Math.max(joined.due, due);
  });
  return joined;
}
