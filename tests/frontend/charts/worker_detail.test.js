// The call stacks of a worker around an instant, and which of its processes was there.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { stacksAt, stretchAround } from "../../../frontend/charts/worker/stacks_at.js";
import { lifetimeAt } from "../../../frontend/timeline/slots.js";

/** @param {number[][]} rows time, worker, stack, count @param {number} bins @returns {any} */
function tile(rows, bins = 32) {
  const names = ["time", "worker", "stack", "count", "source", "prefix"];
  const numbers = (/** @type {string} */ name) => rows.map((row) => row[names.indexOf(name)] ?? 0);
  return {
    start: 0,
    stop: 64,
    blocks: new Map([["profile", [{ kind: "profile", rows: rows.length, meta: { bins }, numbers }]]]),
  };
}

/** @type {any} */
const slot = {
  key: "w",
  lifetimes: [
    { id: 1, started: 0, ended: 20 },
    { id: 2, started: 30, ended: null },
  ],
};

test("the stacks are those of the worker's processes in the seconds around the instant, the most seen first", () => {
  const tiles = [
    tile([
      [5, 1, 10, 9],
      [10, 1, 10, 1],
      [11, 1, 11, 3],
      [11, 7, 12, 50],
      [40, 2, 10, 5],
    ]),
  ];
  const stretch = stretchAround(tiles, 10);
  assert.deepEqual(stretch, { start: 7.5, stop: 12.5 });
  assert.deepEqual(stacksAt(tiles, stretch, slot), [
    { stack: 11, count: 3 },
    { stack: 10, count: 1 },
  ]);
});

test("where bins are wide, the stretch is as wide as they are", () => {
  assert.deepEqual(stretchAround([tile([], 4)], 20), { start: 4, stop: 36 });
});

test("a slot is empty between two of its processes", () => {
  assert.deepEqual(
    [10, 25, 35].map((at) => lifetimeAt(slot, at)?.id ?? null),
    [1, null, 2],
  );
  assert.equal(lifetimeAt(null, 10), null);
});
