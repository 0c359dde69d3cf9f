// The tiles in memory: what live frames add to them, and when they are closed or have to be fetched again.

import { isEach } from "./bands.js";
import { appendFrame } from "./frames.js";
import { isClosed } from "./levels.js";

/** @typedef {import("./frames.js").Frame} Frame */
/** @typedef {import("./tile_store.js").Entry} Entry */

const MOST_APPENDED = 20_000; // rows: then the server's bins are lighter
const MOST_APPENDED_OF_ALL = 200_000; // rows, of all workers
const MOST_KEPT = 5_000; // rows of a tile that is over: fewer are light enough

/**
 * @param {Entry["tile"]} tile
 * @param {string} key
 * @param {Pick<Entry, "sequence"|"version"> & Partial<Pick<Entry, "bytes"|"stale">>} state of what was fetched
 * @param {Iterable<Frame>} frames that may have come after it
 * @returns {Entry}
 */
export function makeEntry(tile, key, { bytes = 0, stale = false, ...state }, frames) {
  const entry = { tile, key, bytes, stale, appended: 0, ...state };
  for (const frame of frames) extendEntry(entry, frame);
  return entry;
}

/** @param {Entry} entry @param {Frame} frame */
export function extendEntry(entry, frame) {
  appendFrame(entry, frame);
  if (entry.appended > (isEach(entry.tile.layer) ? MOST_APPENDED_OF_ALL : MOST_APPENDED)) entry.stale = true;
}

/**
 * Closes a tile whose time is over and that has all records up to a frame.
 * @param {Entry} entry
 * @param {Frame} frame
 */
export function closeEntry(entry, frame) {
  const { tile } = entry;
  if (tile.closed || entry.stale || !isClosed(tile.stop, frame)) return;
  if (entry.appended > MOST_KEPT) {
    entry.stale = true;
  } else {
    tile.closed = true;
    entry.version = frame.version;
  }
}
