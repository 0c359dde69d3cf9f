// Live tiles: batches of the socket are joined exactly to what was fetched.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gate, pass, until } from "../clock.js";
import { tileIndex } from "../../../frontend/timeline/tiles/levels.js";
import { FIRST, extent, join, profile, spans } from "../make.js";
import { open, rows, span, levelOf } from "./opened_tiles.js";

test("a batch that a tile holds already is not added to it and a later one is", async (t) => {
  const { cover, frame } = open(t, () => join(extent(5), spans([span(990)])));
  await until(() => rows(cover(940, 1000)).length);
  frame(spans([span(990)]), extent(5));
  assert.deepEqual(rows(cover(940, 1000)), [990]);
  frame(spans([span(995)]), extent(6));
  assert.deepEqual(rows(cover(940, 1000)), [990, 995]);
});

test("batches that came while a tile was on its way are added to it", async (t) => {
  const arrival = gate();
  const { cover, frame, tiles } = open(t, async () => {
    await arrival.opened;
    return join(extent(5), spans([span(990)]));
  });
  cover(940, 1000);
  await until(() => tiles.loading);
  await pass(50);
  for (const n of [0, 1, 2, 3]) frame(spans([span(990 + n)]), extent(4 + n));
  arrival.open();
  await until(() => rows(cover(940, 1000)).length);
  assert.deepEqual(rows(cover(940, 1000)), [990, 992, 993]);
});

test("a jump in the numbers is noticed and the open tile fetched again", async (t) => {
  const held = { sequence: 5, rows: [span(990)] };
  const { cover, frame } = open(t, () => join(extent(held.sequence), spans(held.rows)));
  await until(() => rows(cover(940, 1000)).length);
  frame(extent(6));
  held.sequence = 8;
  held.rows.push(span(992), span(994));
  assert.equal(frame(spans([span(994)]), extent(8)), true);
  await until(() => rows(cover(940, 1000)).length === 3);
});

/** A batch of a span in a window that nothing was stored of when the socket began. @param {number} sequence */
function batch(sequence) {
  const time = FIRST + 1101 + sequence;
  return join(spans([span(1100 + sequence)]), extent(sequence, { last: time, committed: time }));
}

test("a tile that begins after all that was stored is made of batches and not fetched", async (t) => {
  const { server, cover, frame, tiles } = open(t, () => extent(9));
  tiles.begin(5, FIRST + 1000);
  frame(batch(6));
  frame(batch(7));
  await until(() => rows(cover(1080, 1140)).length);
  assert.deepEqual(rows(cover(1080, 1140)), [1106, 1107]);
  assert.deepEqual(server.requests, []);
});

test("such a tile is fetched where a batch is missing", async (t) => {
  const { cover, frame, tiles } = open(t, () => batch(8));
  tiles.begin(5, FIRST + 1000);
  frame(batch(6));
  frame(extent(8, { last: FIRST + 1109, committed: FIRST + 1109 }));
  await until(() => rows(cover(1080, 1140)).includes(1108));
});

test("while the socket is away every tile is fetched", async (t) => {
  const { cover, frame, tiles } = open(t, () => batch(8));
  tiles.begin(5, FIRST + 1000);
  frame(batch(6));
  tiles.end();
  await until(() => rows(cover(1080, 1140)).includes(1108));
});

test("a long task that ends reaches back into closed tiles", async (t) => {
  const { cover, frame } = open(t, () => extent(5));
  await until(() => cover(100, 160).length);
  frame(extent(6));
  frame(spans([span(90, 1000)]), extent(7, { version: 2 }));
  const found = cover(100, 160);
  assert.ok(found.every((tile) => tile.closed));
  assert.ok(found.every((tile) => tile.blocks.get("span")?.length === 1));
});

test("a batch without a late record leaves closed tiles as they are", async (t) => {
  const { cover, frame } = open(t, () => extent(5));
  await until(() => cover(100, 160).length);
  frame(spans([span(90, 1000)]), extent(6));
  assert.ok(!cover(100, 160).some((tile) => tile.blocks.has("span")));
});

for (const [count, isFetched] of /** @type {[number, boolean][]} */ ([
  [1, false],
  [6_000, true],
])) {
  const fate = isFetched ? "fetched again" : "kept";
  test(`an open tile is closed when it is over, and with ${count} new rows ${fate}`, async (t) => {
    const later = { committed: FIRST + 2000, last: FIRST + 2000 };
    const { server, cover, frame, tiles } = open(t, () => extent(5));
    await until(() => cover(940, 1000).length && !tiles.loading);
    const before = server.requests.length;
    server.answer = () => extent(6, later);
    // what comes with the batch that closes a tile is still in it
    frame(spans(Array(count).fill(span(990))), extent(6, later));
    assert.equal(rows(cover(940, 1000)).length, count);
    await until(() => cover(940, 1000).every((tile) => tile.closed));
    assert.equal(server.requests.length > before, isFetched);
  });
}

test("a live tile that the socket fills is not unloaded", async (t) => {
  const { cover, tiles } = open(t);
  tiles.begin(5, FIRST + 900);
  cover(985, 1000);
  assert.deepEqual(tiles.unloaded("page", "spans"), []);
});

test("a batch of one band is added to its tiles alone", async (t) => {
  const { cover, frame, tiles } = open(t, () => extent(1));
  const layers = ["spans", "spans.1", "prefixes"];
  const look = (/** @type {string} */ layer) => cover(990, 1000, layer, layer);
  tiles.begin(1, Infinity);
  await until(() => layers.map(look).every((found) => found.length));
  frame(spans([span(995)], "spans.1"), extent(2));
  const blocks = layers.map((layer) =>
    Math.max(...look(layer).map((tile) => tile.blocks.get("span")?.length ?? 0)),
  );
  assert.deepEqual(blocks, [0, 1, 1]);
});

test("a live profile is added to its tile", async (t) => {
  const at = FIRST + 990;
  const { cover, frame } = open(t, () => join(extent(5), profile([[at, 1, 1, 0, 7, 3]])));
  const counts = () =>
    cover(940, 1000, "profile").flatMap((tile) =>
      (tile.blocks.get("profile") ?? []).flatMap((block) => {
        const times = block.numbers("time");
        return [...block.numbers("count")].filter(
          (_, row) => times[row] >= tile.start && times[row] < tile.stop,
        );
      }),
    );
  await until(() => counts().length);
  frame(profile([[at + 1, 1, 1, 0, 7, 4]]), extent(6));
  frame(profile([[at, 1, 1, 0, 7, 3]]), extent(5));
  assert.deepEqual(counts(), [3, 4]);
});

test("what isn't closed is fetched once the socket has begun, and what is closed at once", async (t) => {
  const { server, tiles, cover } = open(t, () => extent(7), { committed: FIRST + 5, last: FIRST + 5 });
  tiles.expectSocket(performance.now() + 1500);
  const isOpen = (/** @type {string} */ path) =>
    Number(path.split("?")[0].split("/").at(-1)) === tileIndex(FIRST + 5, levelOf(path));
  cover(0, 10);
  await pass(1000);
  assert.equal(server.requests.filter(isOpen).length, 0);
  tiles.begin(7, FIRST + 5);
  await pass(1000);
  assert.equal(server.requests.filter(isOpen).length, 1);
  tiles.begin(7, FIRST + 5);
  await pass(1000);
  assert.equal(server.requests.filter(isOpen).length, 1);
});

test("the first rows are there once those are that do not wait for the socket", async (t) => {
  const { tiles, cover } = open(t, () => extent(7), { committed: FIRST + 3000, last: FIRST + 3000 });
  tiles.holdUntilDrawn();
  tiles.expectSocket(Infinity);
  cover(0, 3600);
  assert.equal(tiles.hasBegun, false, "nothing has arrived");
  await until(() => tiles.hasBegun);
  assert.equal(tiles.settled, false, "what is open still waits");
  assert.ok(cover(0, 3600).length);
});

test("where all of the window waits for the socket, the first rows do so too", async (t) => {
  const { tiles, cover } = open(t, () => extent(7), { committed: FIRST, last: FIRST });
  tiles.expectSocket(Infinity);
  cover(1, 2);
  await pass(1000);
  assert.equal(tiles.hasBegun, false);
  tiles.begin(7, FIRST);
  await until(() => tiles.hasBegun);
});

test("tiles of a cluster that has ended do not wait for the socket", async (t) => {
  const { tiles, cover } = open(t, () => extent(7), {
    committed: FIRST + 5,
    last: FIRST + 5,
    ended: FIRST + 5,
  });
  tiles.expectSocket(Infinity);
  cover(0, 5);
  await until(() => cover(0, 5).length);
});

test("a socket that does not begin keeps nothing from being fetched for long", async (t) => {
  const { tiles, cover } = open(t, () => extent(), { committed: FIRST + 5, last: FIRST + 5 });
  tiles.expectSocket(performance.now() + 1500);
  cover(0, 10);
  await until(() => cover(0, 10).length);
});
