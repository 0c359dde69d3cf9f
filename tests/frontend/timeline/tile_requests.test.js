// Tiles that are requested together: one request for several, and each by itself where that fails.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { Server, gate, stopClock, until } from "../clock.js";
import { Tiles } from "../../../frontend/timeline/tiles/tiles.js";
import { FIRST, INFO, extent, join, spans } from "../make.js";

/** @param {Uint8Array[]} tiles @returns {Uint8Array} as the server sends them */
function packed(tiles) {
  const parts = tiles.map((tile) => gzipSync(tile));
  const lengths = parts.map((part) => new Uint8Array(new Uint32Array([part.length]).buffer));
  return Buffer.concat(parts.flatMap((part, number) => [lengths[number], part]));
}

/** The keys of a request's tiles. @param {string} path */
function keysOf(path) {
  const query = new URLSearchParams(path.split("?")[1]);
  return query.get("of")?.split(",") ?? [path.split("/tiles/")[1].split("?")[0]];
}

/** @param {string} path */
const isTogether = (path) => path.includes("/tiles?");

/** @param {import("node:test").TestContext} t @param {(key: string) => Uint8Array} tile */
function open(t, tile = () => extent()) {
  stopClock(t);
  const server = new Server();
  server.answer = (path) =>
    /** @type {any} */ (isTogether(path) ? packed(keysOf(path).map(tile)) : tile(keysOf(path)[0]));
  const source = Object.assign(server, { sendsSeveral: true });
  const tiles = new Tiles(/** @type {any} */ (source), /** @type {any} */ (INFO));
  const cover = (/** @type {string} */ layer, start = 470, stop = 530) =>
    tiles.cover("page", layer, FIRST + start, FIRST + stop, 1000);
  return { server, tiles, cover };
}

/** @param {import("../../../frontend/types.js").Tile[]} tiles; when their spans start, in seconds after FIRST */
function starts(tiles) {
  const blocks = tiles.flatMap((tile) => tile.blocks.get("span") ?? []);
  return blocks.flatMap((block) => [...block.numbers("start")].map((start) => start - FIRST));
}

test("tiles of several layers are requested together and each has its own", async (t) => {
  const { server, tiles, cover } = open(t, (key) =>
    key.startsWith("spans") ? join(extent(), spans([[1, 1, 0, 0, FIRST + 500, FIRST + 501]])) : extent(),
  );
  const layers = ["spans", "memory", "events"];
  for (const layer of layers) cover(layer);
  await until(() => tiles.settled);
  assert.ok(server.requests.length < server.requests.flatMap(keysOf).length);
  assert.ok(server.requests.every((path) => keysOf(path).length <= 6));
  assert.ok(new Set(starts(cover("spans"))).has(500));
  assert.deepEqual(starts(cover("memory")), []);
});

test("no tile is requested twice, though two charts want it", async (t) => {
  const { server, tiles, cover } = open(t);
  cover("spans");
  await until(() => tiles.settled);
  for (const viewer of ["one", "other"]) tiles.cover(viewer, "memory", FIRST + 470, FIRST + 530, 1000);
  await until(() => tiles.settled);
  const keys = server.requests.flatMap(keysOf);
  assert.deepEqual(keys.length, new Set(keys).size);
});

test("where a request of several fails, each is requested by itself", async (t) => {
  const { server, tiles, cover } = open(t);
  const answer = server.answer;
  server.answer = (path) => (isTogether(path) ? 503 : answer(path));
  for (const layer of ["spans", "memory"]) cover(layer);
  await until(() => tiles.settled && !tiles.loading);
  const alone = server.requests.filter((path) => !isTogether(path)).flatMap(keysOf);
  for (const path of server.requests.filter(isTogether))
    for (const key of keysOf(path)) assert.ok(alone.includes(key), key);
  assert.equal(tiles.problem, null);
});

test("a tile that failed by itself is not requested with others again", async (t) => {
  const { server, tiles, cover } = open(t);
  const answer = server.answer;
  /** @param {string} key */
  const isBroken = (key) => key.startsWith("memory");
  server.answer = (path) => (keysOf(path).some(isBroken) ? 500 : answer(path));
  for (const layer of ["spans", "memory", "events"]) cover(layer);
  await until(() => tiles.problem);
  assert.equal(cover("events").length > 0, true);
  const before = server.requests.length;
  const again = () => server.requests.slice(before).filter((path) => keysOf(path).some(isBroken));
  await until(() => again().length, 40_000);
  assert.ok(!again().some(isTogether));
});

test("a request goes on as long as one of its tiles is wanted", async (t) => {
  const { server, tiles, cover } = open(t);
  cover("spans");
  await until(() => tiles.settled);
  const late = gate();
  const answer = server.answer;
  /** @type {AbortSignal[]} */
  const signals = [];
  const send = server.fetch;
  server.fetch = (path, options = {}) => {
    if (options.signal) signals.push(options.signal);
    return send(path, options);
  };
  server.answer = async (path) => {
    await late.opened;
    return answer(path);
  };
  for (const layer of ["memory", "events"]) cover(layer, 100, 160);
  await until(() => signals.length === 1);
  tiles.release("page", "memory");
  cover("events", 100, 160);
  await until(() => !tiles.settled);
  assert.equal(signals[0].aborted, false);
  tiles.release("page", "events");
  cover("cpu", 100, 160);
  await until(() => signals[0].aborted);
  late.open();
  await until(() => tiles.settled);
});

test("a tile of each worker's values, which is large, is requested by itself", async (t) => {
  const { server, tiles, cover } = open(t);
  cover("spans");
  await until(() => tiles.settled);
  server.requests.length = 0;
  for (const layer of ["memory.each", "events", "memory"]) cover(layer);
  await until(() => tiles.settled && !tiles.loading);
  for (const path of server.requests)
    assert.ok(!isTogether(path) || !keysOf(path).some((key) => key.includes(".each")), path);
});
