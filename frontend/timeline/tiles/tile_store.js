// The tiles in memory, bounded by bytes; finds the best ones for a part of the timeline.

import { COARSEST_LEVEL } from "../../contract.js";
import { binWidth, tileIndex, tileWidth } from "./levels.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Block} Block */

/**
 * A tile and its version. `sequence` and `version` say which records it has (docs/architecture/replay.md);
 * `appended` counts the rows that the socket added; a stale one is shown until its successor has arrived.
 * @typedef {{tile: Tile, key: string, bytes: number, sequence: number, version: number, appended: number,
 *   stale: boolean}} Entry
 */

const MAXIMUM_BYTES = 96 * 2 ** 20;
const FINER_LEVELS = 3; // at most eight finer tiles stand in for one

/**
 * @param {string} layer
 * @param {number} level
 * @param {number} index
 */
export function tileKey(layer, level, index) {
  return `${layer}/${level}/${index}`;
}

/**
 * @param {string} layer
 * @param {number} level
 * @param {number} index
 * @param {boolean} closed
 * @param {Block[]} blocks
 * @returns {Tile}
 */
export function makeTile(layer, level, index, closed, blocks) {
  const width = tileWidth(level);
  /** @type {Map<string, Block[]>} */
  const byKind = new Map();
  for (const block of blocks) byKind.set(block.kind, [...(byKind.get(block.kind) ?? []), block]);
  const [start, stop] = [index * width, (index + 1) * width];
  return { layer, level, index, start, stop, closed, binWidth: binWidth(level), blocks: byKind };
}

export class TileStore {
  /** @type {Map<string, Entry>} least recently used first */
  #entries = new Map();
  #bytes = 0;
  #maximumBytes;

  constructor(maximumBytes = MAXIMUM_BYTES) {
    this.#maximumBytes = maximumBytes;
  }

  get bytes() {
    return this.#bytes;
  }

  /** @returns {IterableIterator<Entry>} */
  entries() {
    return this.#entries.values();
  }

  /**
   * @param {string} key
   * @returns {Entry|undefined}
   */
  get(key) {
    return this.#entries.get(key);
  }

  /**
   * Keeps an entry, and forgets the ones that weren't used for longest where memory is short.
   * @param {Entry} entry
   * @param {(key: string) => boolean} isWanted those that are on the screen stay
   */
  put(entry, isWanted) {
    this.#forget(entry.key);
    this.#entries.set(entry.key, entry);
    this.#bytes += entry.bytes;
    for (const key of this.#entries.keys()) {
      if (this.#bytes <= this.#maximumBytes) return;
      if (key !== entry.key && !isWanted(key)) this.#forget(key);
    }
  }

  /**
   * What shows a tile's interval best: itself, finer ones that cover it, the next coarser one, or some finer ones.
   * @param {string} layer
   * @param {number} level
   * @param {number} index
   * @returns {Tile[]} each clipped to the interval
   */
  best(layer, level, index) {
    const exact = this.#use(tileKey(layer, level, index));
    if (exact) return [exact.tile];
    const finer = this.#finer(layer, level, index, FINER_LEVELS);
    if (finer.complete) return finer.tiles;
    const coarser = this.#coarser(layer, level, index);
    return coarser ? [coarser] : finer.tiles;
  }

  /**
   * @param {string} layer
   * @param {number} level
   * @param {number} index
   * @param {number} depth
   * @returns {{tiles: Tile[], complete: boolean}}
   */
  #finer(layer, level, index, depth) {
    const halves = [2 * index, 2 * index + 1].map((half) => {
      const entry = this.#use(tileKey(layer, level - 1, half));
      if (entry) return { tiles: [entry.tile], complete: true };
      return depth > 1 ? this.#finer(layer, level - 1, half, depth - 1) : { tiles: [], complete: false };
    });
    return { tiles: halves.flatMap((half) => half.tiles), complete: halves.every((half) => half.complete) };
  }

  /**
   * @param {string} layer
   * @param {number} level
   * @param {number} index
   * @returns {Tile|null}
   */
  #coarser(layer, level, index) {
    const width = tileWidth(level);
    const [start, stop] = [index * width, (index + 1) * width];
    const middle = (start + stop) / 2;
    for (let above = level + 1; above <= COARSEST_LEVEL; above++) {
      const entry = this.#use(tileKey(layer, above, tileIndex(middle, above)));
      if (entry) return { ...entry.tile, start, stop };
    }
    return null;
  }

  /** @param {string} key */
  #use(key) {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** @param {string} key */
  #forget(key) {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#bytes -= entry.bytes;
    this.#entries.delete(key);
  }
}

/** @type {WeakMap<object, number>} */
const numbers = new WeakMap();
let counted = 0;

/** @param {object} block; a number of its own */
function numberOf(block) {
  const known = numbers.get(block) ?? (counted += 1);
  numbers.set(block, known);
  return known;
}

/**
 * What tiles hold, in a text that is another one when something came to them.
 * @param {Tile[]} tiles
 */
export function contentOf(tiles) {
  const held = tiles.map((tile) => {
    const blocks = [...tile.blocks.values()].flat();
    return `${tile.layer}/${tile.level}/${tile.index}/${tile.start}/${tile.stop}/${blocks.map(numberOf)}`;
  });
  return held.join();
}
