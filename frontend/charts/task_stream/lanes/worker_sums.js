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
  blocks.set("busy", sums.map((block) => busyOf(block, tile, model)));
  blocks.delete("worker-busy");
  const level = tile.level + SHIFT;
  return { ...tile, level, index: tile.index / WIDE_BIN, binWidth: binWidth(level), blocks };
}

/**
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
  /** @type {number[][]} lane, bin, prefix, seconds, count, prefix whose colour it has */
  const columns = [[], [], [], [], [], []];
  const add = (/** @type {number[]} */ ...row) => row.forEach((value, column) => columns[column].push(value));
  for (let row = 0; row < sums.rows; row++) {
    const [lane] = model.lanesOf(worker[row]);
    if (!lane) continue;
    add(lane.id, bin[row], prefix[row], seconds[row], Math.round(tasks[row]), prefix[row]);
    const rest = busy[row] - seconds[row];
    if (rest > LEAST * busy[row]) add(lane.id, bin[row], OTHER_PREFIXES, rest, 0, prefix[row]);
  }
  const block = blockOf(columns, { index: (Number.isInteger(sums.meta.index) ? sums.meta.index : tile.index) / WIDE_BIN });
  made.set(sums, { version: model.lanes.size, block });
  return block;
}

/**
 * @param {number[][]} columns
 * @param {Record<string, any>} meta
 * @returns {Block}
 */
function blockOf([lane, bin, prefix, seconds, count, colored], meta) {
  /** @type {Record<string, import("../../../types.js").Numbers>} */
  const numbers = {
    lane: Uint32Array.from(lane),
    bin: Uint32Array.from(bin),
    prefix: Uint32Array.from(prefix),
    action: new Uint8Array(lane.length).fill(COMPUTE),
    seconds: Float64Array.from(seconds),
    count: Uint32Array.from(count),
  };
  const none = { codes: new Uint32Array(0), values: [], at: () => "" };
  return { kind: "busy", rows: lane.length, meta: { ...meta, colored: Uint32Array.from(colored) }, numbers: (name) => numbers[name], texts: () => none };
}
