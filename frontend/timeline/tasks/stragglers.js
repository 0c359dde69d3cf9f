// Stragglers: tasks that computed for much longer than is usual for their prefix, in the tiles of a window.
//
// The limits are those of the server (STRAGGLER). A tile has the long spans one by one and sums up the short ones. The latter count
// with their mean, so the median of a prefix whose tasks are mostly short is that mean.

import { ACTIONS, STRAGGLER } from "../../contract.js";
import { formatDuration } from "../../formatting.js";
import { contentOf } from "../tiles/tile_store.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Block} Block */

/**
 * A task, with the median of its prefix. Times in seconds.
 * @typedef {{key: string, prefix: number, lane: number, start: number, stop: number, usual: number}} Straggler
 */

/** @typedef {{median: number, least: number, fence: number}} Usual of a prefix, in seconds: a straggler takes `least`, and over `fence` */

const MOST = 50;
const PAUSE = 500; // ms between two looks at the tiles
const COMPUTE = ACTIONS.indexOf("compute");

/** Fires "change" when it looked at the tiles later than asked. */
export class Stragglers extends EventTarget {
  /** @type {Straggler[]} those of the window, those that took longest beyond the median first */
  list = [];
  /** whether the tiles sum up tasks, so that none of them can be named */
  areSummed = false;
  /** @type {Map<number, Usual>} by prefix */
  #usual = new Map();
  #looked = -Infinity;
  #wanted = "";
  #look = () => {};
  #timer = 0;

  /**
   * Looks at the tiles, at once or soon; not if they and the window are those of before.
   * @param {Tile[]} tiles
   * @param {number} start of the window
   * @param {number} stop
   * @param {boolean} [areSummed]
   */
  update(tiles, start, stop, areSummed = false) {
    this.areSummed = areSummed;
    const wanted = `${contentOf(tiles)} ${start} ${stop}`;
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    this.#look = () => {
      this.#looked = performance.now();
      this.#usual = usualOf(tiles);
      this.list = stragglersOf(tiles, this.#usual, start, stop);
    };
    const wait = this.#looked + PAUSE - performance.now();
    if (wait > 0) this.#timer ||= window.setTimeout(() => this.#lookLater(), wait);
    else this.#look();
  }

  /**
   * @param {number} prefix
   * @param {number} seconds that a task of it computed
   * @returns {number} the median of the prefix, for a straggler, else 0
   */
  usualOf(prefix, seconds) {
    return exceeded(this.#usual, prefix, seconds);
  }

  #lookLater() {
    this.#timer = 0;
    this.#look(); // here, as the task stream may be out of sight by now
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * @param {Tile[]} tiles
 * @returns {Map<number, Usual>} of each prefix that has enough tasks
 */
export function usualOf(tiles) {
  /** @type {Map<number, {durations: number[], seconds: number, count: number}>} */
  const found = new Map();
  const of = (/** @type {number} */ prefix) => {
    let known = found.get(prefix);
    if (!known) found.set(prefix, (known = { durations: [], seconds: 0, count: 0 }));
    return known;
  };
  visitSpans(tiles, (block, row, tile) => {
    const begin = block.numbers("start")[row];
    if (begin < tile.start) return; // the tile before has it as well
    of(block.numbers("prefix")[row]).durations.push(block.numbers("stop")[row] - begin);
  });
  for (const block of tiles.flatMap((tile) => tile.blocks.get("busy") ?? [])) {
    const [actions, prefixes] = [block.numbers("action"), block.numbers("prefix")];
    const [seconds, counts] = [block.numbers("seconds"), block.numbers("count")];
    for (let row = 0; row < block.rows; row++) {
      if (actions[row] !== COMPUTE) continue;
      const sums = of(prefixes[row]);
      sums.seconds += seconds[row];
      sums.count += counts[row];
    }
  }
  /** @type {Map<number, Usual>} */
  const usual = new Map();
  for (const [prefix, { durations, seconds, count }] of found) {
    if (durations.length + count >= STRAGGLER.fewest)
      usual.set(prefix, usualOfDurations(durations, count, seconds / count));
  }
  return usual;
}

/**
 * The stragglers that overlap [start, stop), those that took longest beyond the median first.
 * @param {Tile[]} tiles
 * @param {Map<number, Usual>} usuals by prefix
 * @param {number} start
 * @param {number} stop
 * @returns {Straggler[]}
 */
export function stragglersOf(tiles, usuals, start, stop) {
  /** @type {Map<string, Straggler>} a span can be in two tiles */
  const found = new Map();
  visitSpans(tiles, (block, row) => {
    const [begin, end] = [block.numbers("start")[row], block.numbers("stop")[row]];
    if (begin >= stop || end <= start) return;
    const [prefix, lane] = [block.numbers("prefix")[row], block.numbers("lane")[row]];
    const usual = exceeded(usuals, prefix, end - begin);
    if (!usual) return;
    const key = block.texts("key").at(row);
    found.set(`${lane} ${begin} ${key}`, { key, prefix, lane, start: begin, stop: end, usual });
  });
  return [...found.values()].sort((one, other) => excessOf(other) - excessOf(one)).slice(0, MOST);
}

/** @param {Straggler} straggler @returns {number} seconds beyond the median */
export function excessOf({ start, stop, usual }) {
  return stop - start - usual;
}

/** @param {number} usual seconds: the median of the prefix */
export function usualText(usual) {
  return `${formatDuration(usual)} is usual`;
}

/**
 * @param {Map<number, Usual>} usuals by prefix
 * @param {number} prefix
 * @param {number} seconds
 * @returns {number} the median, where a task of that many seconds is a straggler, else 0
 */
function exceeded(usuals, prefix, seconds) {
  const usual = usuals.get(prefix);
  return usual && seconds >= usual.least && seconds > usual.fence ? usual.median : 0;
}

/**
 * @param {number[]} durations which are sorted
 * @param {number} count of others that are taken for `mean` each
 * @param {number} mean
 * @returns {Usual}
 */
function usualOfDurations(durations, count, mean) {
  durations.sort((one, other) => one - other);
  const last = durations.length + count - 1;
  const at = (/** @type {number} */ share) => ranked(durations, count, mean, Math.floor(share * last));
  const [lower, median, upper] = [at(0.25), at(0.5), at(0.75)];
  const [low, high] = [lower, upper].map((seconds) => Math.max(seconds, STRAGGLER.shortest));
  const fence = high * Math.min(high / low, STRAGGLER.widest) ** STRAGGLER.fence;
  return { median, least: Math.max(STRAGGLER.ratio * median, median + STRAGGLER.excess), fence };
}

/**
 * The duration at a place among sorted ones together with `count` others that are taken for `mean` each.
 * @param {number[]} durations
 * @param {number} count
 * @param {number} mean
 * @param {number} place
 */
function ranked(durations, count, mean, place) {
  const below = durations.findIndex((duration) => duration >= mean);
  const shorter = count === 0 || below < 0 ? durations.length : below;
  if (place < shorter) return durations[place];
  return place < shorter + count ? mean : durations[place - count];
}

/**
 * Calls `each` for the spans that computed.
 * @param {Tile[]} tiles
 * @param {(block: Block, row: number, tile: Tile) => void} each
 */
function visitSpans(tiles, each) {
  for (const tile of tiles) {
    for (const block of tile.blocks.get("span") ?? []) {
      const actions = block.numbers("action");
      for (let row = 0; row < block.rows; row++) if (actions[row] === COMPUTE) each(block, row, tile);
    }
  }
}
