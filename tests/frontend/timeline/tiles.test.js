// Tiles: the level that fits, and something to see while better is on its way.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compute, gate, pass, until } from "../clock.js";
import { levelFor, tileIndex, tileWidth } from "../../../frontend/timeline/tiles/levels.js";
import { TileStore, makeTile, tileKey } from "../../../frontend/timeline/tiles/tile_store.js";
import { FIRST, decoded, encode, extent, join, spans } from "../make.js";
import { open, rows, span, levelOf } from "./opened_tiles.js";

for (const seconds of [1, 60, 86_400]) {
  test(`of a file that has some levels, these alone are asked for: ${seconds} s`, async (t) => {
    const { server, cover } = open(t, () => extent(), {
      minimum_level: 18,
      minimum_span_level: 18,
      maximum_level: 20,
    });
    for (const layer of ["spans", "memory"]) {
      cover(10, 10 + seconds, layer);
      await until(() => cover(10, 10 + seconds, layer).length);
    }
    assert.ok(server.requests.length > 0);
    for (const request of server.requests) assert.ok([18, 19, 20].includes(levelOf(request)), request);
  });
}

test("of a file with all spans, tiles of spans are made for each zoom, and lines come from the levels there are", async (t) => {
  const { server, cover } = open(t, () => extent(), { minimum_level: 18, maximum_level: 20 });
  /** @type {{layer: string, level: number}[]} */
  const made = [];
  server.tile = async (/** @type {{layer: string, level: number}} */ place) => {
    if (place.layer !== "spans") return null;
    made.push(place);
    return { blocks: decoded(extent(), spans([span(10.25)])), bytes: 54 };
  };
  for (const layer of ["spans", "memory"]) {
    cover(10, 11, layer);
    await until(() => cover(10, 11, layer).length);
  }
  assert.deepEqual(new Set(made.map(({ level }) => level)), new Set([10]));
  assert.ok(cover(10, 11).some((tile) => tile.blocks.get("span")?.[0].texts("key").at(0) === "inc-0"));
  assert.deepEqual(new Set(server.requests.map(levelOf)), new Set([18]));
});

for (const [seconds, level] of [
  [1, 10],
  [60, 16],
  [3600, 22],
  [86_400 * 30, 32],
]) {
  test(`bins are one to two pixels wide: ${seconds} s`, async (t) => {
    const { server, cover } = open(t);
    cover(10, 10 + seconds);
    await until(() => cover(10, 10 + seconds).length);
    assert.deepEqual(new Set(server.requests.map(levelOf)), new Set([level]));
    const pixels = 2 ** level / 1e6 / (seconds / 1000);
    assert.ok((pixels >= 1 && pixels < 2) || level === 10);
  });
}

test("what is coarser is shown until the finer has arrived", async (t) => {
  const finer = gate();
  const { cover } = open(t, async (path) => {
    if (levelOf(path) < 16) await finer.opened;
    return join(extent(), spans([span(500)]));
  });
  await until(() => rows(cover(470, 530)).length);
  const found = cover(495, 505);
  assert.deepEqual(new Set(found.map((tile) => tile.level)), new Set([16]));
  assert.deepEqual(rows(found), [500]);
  const apart = found.every((tile, place) => !place || found[place - 1].stop <= tile.start + 1e-6);
  assert.ok(apart, "the coarser tile's pieces must not overlap");
  finer.open();
  await until(() => cover(495, 505).every((tile) => tile.level < 16));
});

test("what comes together is drawn together and what is late holds nothing up", async (t) => {
  const late = gate();
  const { server, tiles, cover } = open(t, async (path) => {
    if (path.includes("/late/")) await late.opened;
    return extent();
  });
  cover(0, 60);
  await until(() => tiles.settled);
  /** @type {boolean[]} with all that the windows show, or not */
  const drawn = [];
  tiles.addEventListener("change", () => drawn.push(tiles.settled));
  for (const layer of ["spans", "prefixes", "events", "memory"]) cover(200, 260, layer);
  await until(() => drawn.length && !tiles.loading);
  assert.equal(drawn[0], true);
  drawn.length = 0;
  for (const layer of ["spans", "late"]) cover(600, 660, layer);
  await until(() => drawn.length);
  assert.equal(drawn[0], false);
  assert.ok(server.requests.length > 8);
  late.open();
});

test("what is due is sent before the page draws", async (t) => {
  const { server, tiles, cover } = open(t);
  cover(0, 60);
  tiles.sendDue();
  assert.ok(server.requests.length > 0);
  compute(200);
  await until(() => tiles.settled);
});

test("what stands beside the first rows is requested once these are drawn", async (t) => {
  const { server, tiles, cover } = open(t);
  tiles.holdUntilDrawn();
  cover(0, 60);
  cover(0, 60, "memory");
  tiles.sendDue();
  await until(() => tiles.hasBegun && cover(0, 60).length);
  for (let count = 0; count < 5; count++) compute(200);
  assert.ok(server.requests.length > 0);
  assert.deepEqual(
    server.requests.filter((path) => path.includes("memory")),
    [],
  );
  tiles.drawn();
  await until(() => !tiles.loading);
  assert.ok(server.requests.some((path) => path.includes("memory")));
});

test("where no chart draws rows nothing waits for them to be drawn", async (t) => {
  const { server, tiles, cover } = open(t);
  tiles.holdUntilDrawn();
  cover(0, 60, "memory");
  tiles.sendDue();
  assert.ok(server.requests.length > 0);
  await until(() => !tiles.loading);
});

test("what lies beside the window waits for what is in it", async (t) => {
  const { server, tiles } = open(t);
  const level = levelFor(60, 1000);
  const width = tileWidth(level);
  const start = (tileIndex(FIRST + 300, level) + 1) * width + 0.01 * width;
  tiles.cover("page", "spans", start, start + 60, 1000);
  await until(() => !tiles.loading);
  const inside = server.requests.map((path) => {
    const index = Number(path.split("/").at(-1)?.split("?")[0]);
    return start < (index + 1) * width && index * width < start + 60;
  });
  assert.deepEqual(
    inside,
    [...inside].sort((one, other) => Number(other) - Number(one)),
  );
  assert.ok(inside.includes(false));
});

test("what left the screen is not waited for", async (t) => {
  const { cover, tiles } = open(t, (path) => (levelOf(path) === 16 ? new Promise(() => {}) : extent()));
  cover(470, 530);
  await until(() => tiles.loading);
  await until(() => cover(0, 1000).some((tile) => tile.level === 20));
});

test("a tile that fails is named and tried again", async (t) => {
  const failed = new Set();
  const { cover, tiles } = open(t, (path) => {
    if (failed.has(path)) return extent();
    failed.add(path);
    return 500;
  });
  cover(470, 530);
  await until(() => tiles.problem);
  assert.match(String(tiles.problem), /the server answered 500/);
  await until(() => (cover(470, 530), tiles.problem === null && !tiles.loading));
});

test("the part of the window whose tiles failed is unloaded with the reason until they have arrived", async (t) => {
  let isBroken = true;
  const { cover, tiles } = open(t, () => (isBroken ? 503 : extent()));
  cover(470, 530);
  assert.deepEqual(
    tiles.unloaded("page", "spans").map(({ message }) => message),
    ["loading …"],
  );
  assert.deepEqual([tiles.isLoadingAt(FIRST + 500), tiles.isLoadingAt(FIRST + 900)], [true, false]);
  await until(() => (cover(470, 530), tiles.unloaded("page", "spans")[0]?.failed));
  const [part, ...others] = tiles.unloaded("page", "spans");
  assert.deepEqual(others, []);
  assert.ok(part.start <= FIRST + 470 && part.stop >= FIRST + 530);
  assert.match(part.message, /the server answered 503/);
  assert.equal(tiles.isLoadingAt(FIRST + 500), false, "playing doesn't wait for what failed");
  isBroken = false;
  await until(() => (cover(470, 530), tiles.unloaded("page", "spans").length === 0));
  assert.equal(tiles.problem, null);
});

test("only the tile that failed is unloaded", async (t) => {
  const broken = tileIndex(FIRST + 500, 16);
  const { cover, tiles } = open(t, (path) => (path.includes(`/${broken}?`) ? 503 : extent()));
  await until(() => (cover(470, 530), !tiles.loading));
  const parts = tiles.unloaded("page", "spans");
  assert.deepEqual(
    parts.map(({ start, stop }) => [start, stop]),
    [[broken * tileWidth(16), (broken + 1) * tileWidth(16)]],
  );
});

test("a tile that goes on failing is tried ever more rarely", async (t) => {
  const { cover, server } = open(t, () => 503);
  const asked = () => {
    cover(499, 500);
    return server.requests.length;
  };
  await until(asked);
  await pass(100);
  const tiles = asked();
  await pass(1100);
  assert.equal(asked(), 2 * tiles);
  await pass(1100);
  assert.equal(asked(), 2 * tiles);
  await pass(1100);
  assert.equal(asked(), 3 * tiles);
});

test("bytes that are no tile are an error not a picture", async (t) => {
  const { cover, tiles } = open(t, () => encode("busy", 0, []));
  cover(0, 60);
  await until(() => tiles.problem);
  assert.match(String(tiles.problem), /without its extent/);
});

test("memory is bounded and what is on the screen stays", () => {
  const store = new TileStore(1000);
  for (let index = 0; index < 50; index++) {
    const rest = { bytes: 100, sequence: 0, version: 0, appended: 0, stale: false };
    const entry = { tile: makeTile("spans", 20, index, true, []), key: tileKey("spans", 20, index), ...rest };
    store.put(entry, (key) => key === "spans/20/0");
  }
  assert.equal(store.bytes, 1000);
  const kept = [...store.entries()].map((entry) => entry.tile.index);
  assert.deepEqual(kept, [0, 41, 42, 43, 44, 45, 46, 47, 48, 49]);
});

test("finer tiles that cover a place stand in for the coarser one", () => {
  const store = new TileStore();
  const put = (/** @type {number} */ level, /** @type {number} */ index) => {
    const rest = { bytes: 1, sequence: 0, version: 0, appended: 0, stale: false };
    const entry = {
      tile: makeTile("spans", level, index, true, []),
      key: tileKey("spans", level, index),
      ...rest,
    };
    store.put(entry, () => true);
  };
  put(19, 8);
  put(18, 18);
  put(18, 19);
  const finer = store.best("spans", 20, 4).map((tile) => [tile.level, tile.index]);
  assert.deepEqual(finer, [
    [19, 8],
    [18, 18],
    [18, 19],
  ]);
  put(22, 1);
  const clipped = store.best("spans", 20, 5).map((tile) => [tile.level, tile.start, tile.stop]);
  assert.deepEqual(clipped, [[22, 5 * tileWidth(20), 6 * tileWidth(20)]]);
});

test("finer tiles of a profile than its seconds are not asked for", async (t) => {
  const { server, cover } = open(t);
  await until(() => cover(10, 10.5, "profile").length);
  assert.deepEqual(new Set(server.requests.map(levelOf)), new Set([14]));
});
