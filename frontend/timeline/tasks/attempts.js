// Tasks that were computed several times in the tiles of a window: retried after an error, or computed again because the
// worker with their result was lost.

import { ACTIONS } from "../../contract.js";
import { contentOf } from "../tiles/tile_store.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {{number: number, count: number}} Attempt 1, 2, … of `count` */

const PAUSE = 500; // ms between two looks at the tiles
const COMPUTE = ACTIONS.indexOf("compute");

/** Fires "change" when the tiles have to be looked at again. */
export class Attempts extends EventTarget {
  /** @type {Map<string, number[]>} starts of the attempts by key, of tasks that have several */
  #starts = new Map();
  #looked = -Infinity;
  #content = "";
  #timer = 0;

  /**
   * Looks at the tiles, if they hold something else than before and that is not too soon.
   * @param {Tile[]} tiles
   */
  update(tiles) {
    const content = contentOf(tiles);
    if (content === this.#content) return;
    const wait = this.#looked + PAUSE - performance.now();
    if (wait > 0) {
      this.#timer ||= window.setTimeout(() => this.#lookAgain(), wait);
      return;
    }
    this.#content = content;
    this.#looked = performance.now();
    this.#starts = attemptsOf(tiles);
  }

  /** How many tasks have several. */
  get size() {
    return this.#starts.size;
  }

  /**
   * @param {string} key
   * @param {number} start of a span that computed
   * @returns {Attempt|null} null for the task's only attempt
   */
  of(key, start) {
    const starts = this.#starts.get(key);
    return starts ? { number: starts.indexOf(start) + 1, count: starts.length } : null;
  }

  #lookAgain() {
    this.#timer = 0;
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * Tasks that are summed up in bins have no keys, so only what is drawn one by one counts.
 * @param {Tile[]} tiles
 * @returns {Map<string, number[]>} the starts of the attempts by key, in order; of tasks that have several
 */
export function attemptsOf(tiles) {
  /** @type {Map<string, number>} */
  const first = new Map();
  /** @type {Map<string, number[]>} */
  const several = new Map();
  for (const tile of tiles) {
    for (const block of tile.blocks.get("span") ?? []) {
      const [actions, starts, keys] = [block.numbers("action"), block.numbers("start"), block.texts("key")];
      for (let row = 0; row < block.rows; row++) {
        if (actions[row] !== COMPUTE) continue;
        const key = keys.at(row);
        const known = first.get(key);
        if (known === undefined) first.set(key, starts[row]);
        else if (key && known !== starts[row]) add(several, key, known, starts[row]);
      }
    }
  }
  for (const starts of several.values()) starts.sort((one, other) => one - other);
  return several;
}

/**
 * @param {Map<string, number[]>} several
 * @param {string} key
 * @param {number} first start
 * @param {number} start of another attempt; a span can be in two tiles
 */
function add(several, key, first, start) {
  const starts = several.get(key);
  if (!starts) several.set(key, [first, start]);
  else if (!starts.includes(start)) starts.push(start);
}
