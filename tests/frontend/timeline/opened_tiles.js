// Tiles whose server answers as a test says.

import assert from "node:assert/strict";
import { Server, stopClock } from "../clock.js";
import { Tiles } from "../../../frontend/timeline/tiles/tiles.js";
import { FIRST, INFO, decoded, extent } from "../make.js";

/** @typedef {import("../../../frontend/types.js").Tile} Tile */

/** @param {import("node:test").TestContext} t @param {(path: string) => any} answer @param {object} changes of INFO */
export function open(t, answer = () => extent(), changes = {}) {
  stopClock(t);
  const server = new Server();
  server.answer = answer;
  const tiles = new Tiles(/** @type {any} */ (server), /** @type {any} */ ({ ...INFO, ...changes }));
  return {
    server,
    tiles,
    /** @param {...Uint8Array} parts of a frame of the socket */
    frame(...parts) {
      const blocks = decoded(...parts);
      tiles.setExtent({
        ...INFO,
        .../** @type {any} */ (blocks.find((block) => block.kind === "extent")).meta,
      });
      return tiles.append(blocks);
    },
    /** From seconds after FIRST. @param {number} start @param {number} stop */
    cover: (start, stop, layer = "spans", viewer = "page") =>
      tiles.cover(viewer, layer, FIRST + start, FIRST + stop, 1000),
  };
}

/** When the spans of tiles start, in seconds after FIRST. @param {Tile[]} tiles */
export function rows(tiles) {
  const starts = tiles.flatMap((tile) =>
    (tile.blocks.get("span") ?? []).flatMap((block) =>
      [...block.numbers("start")].filter((start) => start >= tile.start && start < tile.stop),
    ),
  );
  return starts.map((start) => start - FIRST).sort((one, other) => one - other);
}

/** A span from `start` to `stop`, seconds after FIRST. */
export const span = (/** @type {number} */ start, stop = start + 1) =>
  /** @type {any} */ ([1, 1, 0, 0, FIRST + start, FIRST + stop]);

/** @param {string} path */
export function levelOf(path) {
  const found = /^\/api\/v1\/clusters\/1\/tiles\/\w+\/(\d+)\/(\d+)\?version=(\d+)$/.exec(path);
  assert.ok(found, path);
  return Number(found[1]);
}
