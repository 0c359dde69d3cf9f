// Which tasks were computed several times.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { Attempts, attemptsOf } from "../../../frontend/timeline/tasks/attempts.js";
import { makeTile } from "../../../frontend/timeline/tiles/tile_store.js";
import { pass, stopClock } from "../clock.js";
import { FIRST, block, decoded } from "../make.js";

/** @param {[key: string, start: number, action?: number][]} rows */
function tileOf(...rows) {
  const named = rows.map(([key, start, action = 0]) => {
    return {
      lane: 1,
      prefix: 1,
      action,
      status: 0,
      start: FIRST + start,
      stop: FIRST + start + 1,
      nbytes: 0,
      key,
      typename: "",
    };
  });
  return makeTile("spans", 24, 1, true, decoded(block("span", named, { layer: "spans" })));
}

test("a task with several computing spans has as many attempts, in order of time, in whichever tiles they are", () => {
  const tiles = [tileOf(["a", 30], ["b", 1], ["a", 10]), tileOf(["a", 20], ["c", 5])];
  assert.deepEqual([...attemptsOf(tiles)], [["a", [10, 20, 30].map((start) => FIRST + start)]]);
});

test("a span that two tiles have is one attempt, and transfers are none", () => {
  assert.equal(attemptsOf([tileOf(["a", 1]), tileOf(["a", 1], ["a", 5, 1])]).size, 0);
});

test("tasks without a key are not one task", () => {
  assert.equal(attemptsOf([tileOf(["", 1], ["", 2])]).size, 0);
});

test("an attempt has its number", () => {
  const attempts = new Attempts();
  attempts.update([tileOf(["a", 1], ["a", 5], ["b", 2])]);
  assert.deepEqual(attempts.of("a", FIRST + 5), { number: 2, count: 2 });
  assert.equal(attempts.of("b", FIRST + 2), null);
});

test("tiles are looked at again only when something came to them", async (t) => {
  stopClock(t);
  const attempts = new Attempts();
  const tiles = [tileOf(["a", 1], ["a", 5])];
  let changes = 0;
  attempts.addEventListener("change", () => {
    changes += 1;
    attempts.update([...tiles]); // as the page does, which is drawn again
  });
  attempts.update([...tiles]);
  attempts.update([...tiles]);
  await pass(5_000);
  assert.equal(changes, 0);
  tiles.push(tileOf(["b", 1], ["b", 5]));
  attempts.update([...tiles]);
  attempts.update([...tiles]);
  await pass(5_000);
  assert.equal(changes, 0);
  assert.deepEqual(attempts.of("b", FIRST + 5), { number: 2, count: 2 });
});

test("tiles that come soon after others are looked at a little later", async (t) => {
  stopClock(t);
  const attempts = new Attempts();
  const tiles = [tileOf(["a", 1], ["a", 5])];
  let changes = 0;
  attempts.addEventListener("change", () => {
    changes += 1;
    attempts.update(tiles);
  });
  attempts.update([tileOf(["b", 1])]);
  attempts.update(tiles);
  assert.equal(attempts.of("a", FIRST + 1), null);
  await pass(5_000);
  assert.equal(changes, 1);
  assert.deepEqual(attempts.of("a", FIRST + 1), { number: 1, count: 2 });
});
