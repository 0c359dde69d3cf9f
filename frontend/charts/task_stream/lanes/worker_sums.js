// Tiles with sums of each worker, as tiles of lanes: all that a worker computed is on its first lane, in bins eight times as
// wide, as the prefix that took longest in each and the others together, which have its colour. Rows that stand for workers or hosts look alike
// of both, and of many workers these have a tenth of the bytes.

import { WIDE_BIN } from "../../../contract.js";
import { eachLayer } from "../../../timeline/tiles/bands.js";
import { binWidth } from "../../../timeline/tiles/levels.js";
import { COMPUTE } from "../actions.js";

/** @typedef {import("../../../types.js").Tile} Tile */
/** @typedef {import("../../../types.js").Block} Block */
/** @typedef {import("../../../timeline/model.js").Model} Model */

export const SUMS = eachLayer("spans");
export const OTHER_PREFIXES = 0; // no prefix has this id

/**
 * @param {number} prefix id
 * @param {Model} model
 */
export function nameOfPrefix(prefix, model) {
  return prefix === OTHER_PREFIXES ? "other prefixes" : model.prefixName(prefix);
}

/**
 * The prefixes whose colours the rows of a block have.
 * @param {Block} block of kind span or busy
 * @returns {import("../../../types.js").Numbers}
 */
export function coloredPrefixes(block) {
  return block.meta.colored instanceof Uint32Array ? block.meta.colored : block.numbers("prefix");
}

const SHIFT = Math.log2(WIDE_BIN);
const LEAST = 0.01; // of a bin's time: less of other prefixes is only rounding

/** @type {WeakMap<Block, {version: number, block: Block}>} */
const made = new WeakMap();

/**
 * @param {Tile} tile of the layer SUMS
 * @param {Model} model
 * @returns {Tile} of all lanes: it has blocks of kind busy and, where live, span
 */
export function tileOfLanes(tile, model) {
  const blocks = new Map(tile.blocks);
  const sums = tile.blocks.get("worker-busy") ?? [];
  blocks.set(
    "busy",
    sums.map((block) => busyOf(block, tile, model)),
  );
  blocks.delete("worker-busy");
  const level = tile.level + SHIFT;
  return { ...tile, level, index: tile.index / WIDE_BIN, binWidth: binWidth(level), blocks };
}

/**
 * The loop makes one call a row: a browser runs it uncompiled on a page that was just opened.
 * @param {Block} sums of kind worker-busy
 * @param {Tile} tile
 * @param {Model} model
 * @returns {Block} of kind busy
 */
function busyOf(sums, tile, model) {
  const known = made.get(sums);
  if (known?.version === model.lanes.size) return known.block;
  const [worker, bin, prefix] = [sums.numbers("worker"), sums.numbers("bin"), sums.numbers("prefix")];
  const [busy, seconds, tasks] = [sums.numbers("busy"), sums.numbers("seconds"), sums.numbers("tasks")];
  const firstLanes = new Map([...model.workers.keys()].map((id) => [id, model.lanesOf(id)[0]?.id]));
  const most = 2 * sums.rows;
  const [lanes, bins, prefixes, colored] = [
    new Uint32Array(most),
    new Uint32Array(most),
    new Uint32Array(most),
    new Uint32Array(most),
  ];
  const [took, count] = [new Float64Array(most), new Uint32Array(most)];
  let rows = 0;
  for (let row = 0; row < sums.rows; row++) {
    const lane = firstLanes.get(worker[row]);
    if (lane === undefined) continue;
    const rest = busy[row] - seconds[row];
    const parts = rest > LEAST * busy[row] ? 2 : 1;
    for (let part = 0; part < parts; part++) {
      lanes[rows] = lane;
      bins[rows] = bin[row];
      colored[rows] = prefix[row];
      prefixes[rows] = part === 0 ? prefix[row] : OTHER_PREFIXES;
      took[rows] = part === 0 ? seconds[row] : rest;
      count[rows] = part === 0 ? tasks[row] + 0.5 : 0;
      rows += 1;
    }
  }
  const index = (Number.isInteger(sums.meta.index) ? sums.meta.index : tile.index) / WIDE_BIN;
  const columns = { lane: lanes, bin: bins, prefix: prefixes, seconds: took, count, colored };
  const block = blockOf(columns, rows, index);
  made.set(sums, { version: model.lanes.size, block });
  return block;
}

/**
 * @param {Record<string, Uint32Array|Float64Array>} columns with room for more rows
 * @param {number} rows
 * @param {number} index
 * @returns {Block}
 */
function blockOf(columns, rows, index) {
  const filled = Object.entries(columns).map(([name, values]) => [name, values.subarray(0, rows)]);
  /** @type {Record<string, import("../../../types.js").Numbers>} */
  const numbers = { ...Object.fromEntries(filled), action: new Uint8Array(rows).fill(COMPUTE) };
  const none = { codes: new Uint32Array(0), values: [], at: () => "" };
  return {
    kind: "busy",
    rows,
    meta: { index, colored: numbers.colored },
    numbers: (name) => numbers[name],
    texts: () => none,
  };
}
