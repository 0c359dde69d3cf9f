// Stragglers: tasks that computed over five times as long as the median of their prefix, in the tiles of a window.
//
// A tile has the long spans one by one and sums up the short ones. The latter count with their mean, so the median of a prefix whose
// tasks are mostly short is that mean.

import { ACTIONS } from "../../contract.js";
import { contentOf } from "../tiles/tile_store.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Block} Block */

/**
 * A task, with its duration as a multiple of its prefix' median. Times in seconds.
 * @typedef {{key: string, prefix: number, lane: number, start: number, stop: number, factor: number}} Straggler
 */

export const FACTOR = 5;
const FEWEST = 5; // tasks of a prefix that say what is usual
const MOST = 50;
const PAUSE = 500; // ms between two looks at the tiles
const COMPUTE = ACTIONS.indexOf("compute");

/** Fires "change" when it looked at the tiles later than asked. */
export class Stragglers extends EventTarget {
  /** @type {Straggler[]} those of the window, the greatest factors first */
  list = [];
  /** whether the tiles sum up tasks, so that none of them can be named */
  areSummed = false;
  /** @type {Map<number, number>} median by prefix, in seconds */
  #medians = new Map();
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
      this.#medians = mediansOf(tiles);
      this.list = stragglersOf(tiles, this.#medians, start, stop);
    };
    const wait = this.#looked + PAUSE - performance.now();
    if (wait > 0) this.#timer ||= window.setTimeout(() => this.#lookLater(), wait);
    else this.#look();
  }

  /**
   * @param {number} prefix
   * @param {number} seconds that a task of it computed
   * @returns {number} the multiple of the median for a straggler, else 0
   */
  factorOf(prefix, seconds) {
    return factor(this.#medians, prefix, seconds);
  }

  #lookLater() {
    this.#timer = 0;
    this.#look(); // here, as the task stream may be out of sight by now
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * @param {Tile[]} tiles
 * @returns {Map<number, number>} the median duration of the tasks of each prefix that has enough of them
 */
export function mediansOf(tiles) {
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
  /** @type {Map<number, number>} */
  const medians = new Map();
  for (const [prefix, { durations, seconds, count }] of found) {
    if (durations.length + count >= FEWEST) medians.set(prefix, median(durations, count, seconds / count));
  }
  return medians;
}

/**
 * The stragglers that overlap [start, stop), the greatest factors first.
 * @param {Tile[]} tiles
 * @param {Map<number, number>} medians
 * @param {number} start
 * @param {number} stop
 * @returns {Straggler[]}
 */
export function stragglersOf(tiles, medians, start, stop) {
  /** @type {Map<string, Straggler>} a span can be in two tiles */
  const found = new Map();
  visitSpans(tiles, (block, row) => {
    const [begin, end] = [block.numbers("start")[row], block.numbers("stop")[row]];
    if (begin >= stop || end <= start) return;
    const [prefix, lane] = [block.numbers("prefix")[row], block.numbers("lane")[row]];
    const multiple = factor(medians, prefix, end - begin);
    if (!multiple) return;
    const key = block.texts("key").at(row);
    found.set(`${lane} ${begin} ${key}`, { key, prefix, lane, start: begin, stop: end, factor: multiple });
  });
  return [...found.values()].sort((one, other) => other.factor - one.factor).slice(0, MOST);
}

/** @param {number} multiple of the median */
export function factorText(multiple) {
  return `${multiple < 10 ? multiple.toFixed(1) : Math.round(multiple)} × median`;
}

/**
 * @param {Map<number, number>} medians
 * @param {number} prefix
 * @param {number} seconds
 */
function factor(medians, prefix, seconds) {
  const usual = medians.get(prefix);
  return usual && seconds > FACTOR * usual ? seconds / usual : 0;
}

/**
 * The median of durations together with `count` others that are taken for `mean` each.
 * @param {number[]} durations
 * @param {number} count
 * @param {number} mean
 */
function median(durations, count, mean) {
  durations.sort((one, other) => one - other);
  const middle = (durations.length + count - 1) / 2;
  const below = durations.findIndex((duration) => duration >= mean);
  const shorter = count === 0 || below < 0 ? durations.length : below;
  if (middle < shorter) return durations[Math.floor(middle)];
  return middle < shorter + count ? mean : durations[Math.floor(middle) - count];
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
