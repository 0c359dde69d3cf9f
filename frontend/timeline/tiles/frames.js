// The newest live frames, and which tiles their rows belong to.

import { eachLayer, isTogether, layerName } from "./bands.js";

/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("./tile_store.js").Entry} Entry */

/**
 * Rows of one block and the times that they lie between.
 * @typedef {{block: Block, layers: string[], first: number, last: number}} Part
 * `missed` is true when frames before this one never arrived; `last` is the time of the newest record stored by then.
 * @typedef {{sequence: number, version: number, last: number, committed: number, parts: Part[], missed: boolean}} Frame
 */

const MOST_FRAMES = 300;
const MOST_ROWS = 200_000;

/** @type {Record<string, (block: Block) => Omit<Part, "block">>} */
const PLACES = {
  span: (block) => ({
    layers: [block.meta.layer ?? "spans", eachLayer("spans"), "prefixes"],
    first: extreme(block, "start", Math.min),
    last: extreme(block, "stop", Math.max),
  }),
  event: (block) => ({
    layers: ["events"],
    first: extreme(block, "time", Math.min),
    last: extreme(block, "time", Math.max),
  }),
  profile: (block) => ({
    layers: ["profile"],
    first: extreme(block, "time", Math.min),
    last: extreme(block, "time", Math.max),
  }),
  bin: (block) => ({
    layers: isTogether(block.meta.layer)
      ? [block.meta.layer]
      : [block.meta.layer, eachLayer(layerName(block.meta.layer))],
    first: extreme(block, "time", Math.min),
    last: extreme(block, "time", Math.max),
  }),
};

/** Keeps the frames that tiles in transit may lack. */
export class FrameLog {
  /** @type {Frame[]} */
  #frames = [];
  #rows = 0;
  #sequence = 0;
  /** all batches after this number are kept */
  start = 0;
  /** all records later than this are in them; Infinity: the socket is disconnected */
  last = Infinity;

  /**
   * The next frames begin after this number.
   * @param {number} sequence
   * @param {number} last the time of the newest record up to it
   */
  begin(sequence, last) {
    this.#sequence = sequence;
    this.start = sequence;
    this.last = last;
  }

  /** There are no frames until the next `begin`. */
  end() {
    this.last = Infinity;
  }

  /**
   * @param {Block[]} blocks of one frame; the last is the extent
   * @returns {Frame}
   */
  add(blocks) {
    const extent = blocks.find((block) => block.kind === "extent")?.meta ?? {};
    const sequence = Number(extent.sequence ?? 0);
    const parts = blocks.filter((block) => block.kind in PLACES && block.rows > 0).map(partOf);
    const missed = sequence > this.#sequence + 1;
    const last = Number(extent.last ?? Infinity);
    const [version, committed] = [Number(extent.version ?? 0), Number(extent.committed ?? 0)];
    const frame = { sequence, version, last, committed, parts, missed };
    this.#sequence = Math.max(sequence, this.#sequence);
    this.#frames.push(frame);
    this.#rows += rowsOf(frame);
    while (this.#frames.length > MOST_FRAMES || this.#rows > MOST_ROWS) {
      const oldest = this.#frames.shift();
      if (!oldest) break;
      this.#rows -= rowsOf(oldest);
      this.start = Math.max(this.start, oldest.sequence);
      this.last = Math.max(this.last, oldest.last);
    }
    return frame;
  }

  /** All that are kept, oldest first. */
  get frames() {
    return this.#frames;
  }
}

/**
 * Adds the rows of a frame to a tile, unless the tile was read after the frame was stored and has them.
 * A closed tile may have been read long ago; what it lacks has made the past's version greater than its own. An open
 * one that lacks the frames before this one is stale.
 * @param {Entry} entry
 * @param {Frame} frame
 */
export function appendFrame(entry, frame) {
  if (entry.tile.closed) {
    if (frame.version <= entry.version) return;
  } else {
    if (frame.sequence <= entry.sequence) return;
    if (frame.sequence > entry.sequence + 1) entry.stale = true;
    entry.sequence = frame.sequence;
  }
  const { tile } = entry;
  for (const part of frame.parts) {
    if (!part.layers.includes(tile.layer) || part.last < tile.start || part.first >= tile.stop) continue;
    const blocks = tile.blocks.get(part.block.kind);
    if (blocks) blocks.push(part.block);
    else tile.blocks.set(part.block.kind, [part.block]);
    entry.appended += part.block.rows;
  }
}

/**
 * @param {Block} block
 * @returns {Part}
 */
function partOf(block) {
  return { block, ...PLACES[block.kind](block) };
}

/** @param {Frame} frame */
function rowsOf(frame) {
  return frame.parts.reduce((sum, part) => sum + part.block.rows, 0);
}

/**
 * @param {Block} block
 * @param {import("../../contract.js").NumberColumn} name
 * @param {(one: number, other: number) => number} choose
 */
function extreme(block, name, choose) {
  const numbers = block.numbers(name);
  let found = numbers[0];
  for (let row = 1; row < numbers.length; row++) found = choose(found, numbers[row]);
  return found;
}
