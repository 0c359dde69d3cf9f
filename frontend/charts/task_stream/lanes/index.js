// Index of a block's rows by lane. It is made once per block, so that drawing reads only the visible lanes.

import { COMPUTE, ERROR, FIRST_PREFIX_SLOT, slotOf } from "../actions.js";
import { SUMS, coloredPrefixes } from "./worker_sums.js";

/** @typedef {import("../../../types.js").Block} Block */
/** @typedef {import("../../../types.js").Tile} Tile */
/** @typedef {import("../../../timeline/model.js").Model} Model */

/**
 * `order` holds rows by lane; those of one lane are order[from … to). `slots` is by row.
 * @typedef {{order: Uint32Array, ranges: Map<number, [number, number]>, slots: Uint16Array}} LaneIndex
 */

/** @type {WeakMap<Block, LaneIndex>} */
const indices = new WeakMap();

/**
 * @param {Block} block of kind span or busy
 * @param {Model} model
 * @returns {LaneIndex}
 */
function laneIndex(block, model) {
  const known = indices.get(block);
  if (known) return known;
  const index = { ...byLane(block), slots: slotsOf(block, model) };
  indices.set(block, index);
  return index;
}

/**
 * Makes the indices of a tile's blocks, which of many workers takes long.
 * @param {Tile} tile
 * @param {Model} model
 * @returns {boolean} whether any was not there
 */
export function indexLanes(tile, model) {
  const blocks = ["span", "busy"]
    .flatMap((kind) => tile.blocks.get(kind) ?? [])
    .filter((block) => !indices.has(block));
  for (const block of blocks) laneIndex(block, model);
  return blocks.length > 0;
}

/** @param {Block} block @returns {Pick<LaneIndex, "order"|"ranges">} rows of a lane keep their order */
function byLane(block) {
  const lanes = block.numbers("lane");
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (let row = 0; row < block.rows; row++) counts.set(lanes[row], (counts.get(lanes[row]) ?? 0) + 1);
  /** @type {Map<number, [number, number]>} */
  const ranges = new Map();
  let from = 0;
  for (const [lane, count] of counts) {
    ranges.set(lane, [from, from]);
    from += count;
  }
  const order = new Uint32Array(block.rows);
  for (let row = 0; row < block.rows; row++) {
    const range = /** @type {[number, number]} */ (ranges.get(lanes[row]));
    order[range[1]++] = row;
  }
  return { order, ranges };
}

/**
 * @param {Block} block
 * @param {Model} model
 */
function slotsOf(block, model) {
  const [prefixes, actions] = [coloredPrefixes(block), block.numbers("action")];
  const statuses = block.kind === "span" ? block.numbers("status") : null;
  const slots = new Uint16Array(block.rows);
  // most bins computed without an error: the loop makes no call for them, as a browser has not compiled it yet
  const order = model.prefixOrder;
  for (let row = 0; row < slots.length; row++) {
    const status = statuses ? statuses[row] : 0;
    const index = order.get(prefixes[row]) ?? -1;
    slots[row] =
      actions[row] === COMPUTE && status !== ERROR
        ? FIRST_PREFIX_SLOT + index
        : slotOf(actions[row], status, index);
  }
  return slots;
}

/**
 * Calls `visit` for the spans of a lane that overlap [start, stop), with the part that the tile draws.
 * @param {Tile} tile
 * @param {Model} model
 * @param {number|null} lane null: all of them
 * @param {number} start
 * @param {number} stop
 * @param {(block: Block, row: number, slot: number, from: number, to: number) => void} visit
 */
export function visitSpans(tile, model, lane, start, stop, visit) {
  if (lane !== null && tile.layer !== SUMS && tile.layer !== model.spansLayer(lane)) return;
  const [low, high] = [Math.max(start, tile.start), Math.min(stop, tile.stop)];
  for (const block of tile.blocks.get("span") ?? []) {
    const { order, ranges, slots } = laneIndex(block, model);
    const range = lane === null ? [0, order.length] : ranges.get(lane);
    if (!range) continue;
    const [starts, stops] = [block.numbers("start"), block.numbers("stop")];
    for (let place = range[0]; place < range[1]; place++) {
      const row = order[place];
      const from = Math.max(starts[row], low);
      const to = Math.min(stops[row], high);
      if (from < to) visit(block, row, slots[row], from, to);
    }
  }
}

/**
 * Calls `visit` for the bins of a lane that overlap [start, stop), with the part that the tile draws.
 * @param {Tile} tile
 * @param {Model} model
 * @param {number|null} lane null: all of them
 * @param {number} start
 * @param {number} stop
 * @param {(block: Block, row: number, slot: number, from: number, to: number, seconds: number) => void} visit
 */
export function visitBusy(tile, model, lane, start, stop, visit) {
  if (lane !== null && tile.layer !== SUMS && tile.layer !== model.spansLayer(lane)) return;
  const [low, high] = [Math.max(start, tile.start), Math.min(stop, tile.stop)];
  for (const block of tile.blocks.get("busy") ?? []) {
    const { order, ranges, slots } = laneIndex(block, model);
    const range = lane === null ? [0, order.length] : ranges.get(lane);
    if (!range) continue;
    const [bins, seconds] = [block.numbers("bin"), block.numbers("seconds")];
    const origin = busyOrigin(block, tile);
    for (let place = range[0]; place < range[1]; place++) {
      const row = order[place];
      const binStart = origin + bins[row] * tile.binWidth;
      const from = Math.max(binStart, low);
      const to = Math.min(binStart + tile.binWidth, high);
      if (from < to) visit(block, row, slots[row], from, to, (seconds[row] * (to - from)) / tile.binWidth);
    }
  }
}

/**
 * Adds the bins of a lane that overlap [start, stop) to columns, as visitBusy visits them.
 * @param {import("../../drawing/coverage.js").Coverage} coverage
 * @param {Tile} tile
 * @param {Model} model
 * @param {number|null} lane null: all of them
 * @param {number} start
 * @param {number} stop
 */
export function addBusy(coverage, tile, model, lane, start, stop) {
  if (lane !== null && tile.layer !== SUMS && tile.layer !== model.spansLayer(lane)) return;
  const [low, high] = [Math.max(start, tile.start), Math.min(stop, tile.stop)];
  for (const block of tile.blocks.get("busy") ?? []) {
    const { order, ranges, slots } = laneIndex(block, model);
    const range = lane === null ? [0, order.length] : ranges.get(lane);
    if (!range) continue;
    const columns = {
      slots,
      rows: order.subarray(...range),
      bins: block.numbers("bin"),
      seconds: block.numbers("seconds"),
    };
    coverage.addBins(columns, { origin: busyOrigin(block, tile), width: tile.binWidth, low, high });
  }
}

/**
 * Where the bins of a block begin: a clipped tile begins later.
 * @param {Block} block
 * @param {Tile} tile
 */
function busyOrigin(block, tile) {
  const index = Number.isInteger(block.meta.index) ? block.meta.index : tile.index;
  return (index * 512 * 2 ** tile.level) / 1e6;
}
