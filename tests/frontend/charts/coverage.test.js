// Seconds by colour and pixel column: what is there costs something, what isn't costs nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Coverage } from "../../../frontend/charts/drawing/coverage.js";

const SLOTS = 3_000;
const COLUMNS = 1_000;

/** @param {Coverage} coverage @param {number} slot @returns {[number, number][]} column and seconds, in order */
function found(coverage, slot) {
  const columns = [...coverage.columnsOf(slot)].sort((one, other) => one - other);
  return columns.map((column) => [column, coverage.seconds(slot, column)]);
}

test("seconds are spread over the columns that they lie in, as far as those are in the window", () => {
  const coverage = new Coverage();
  coverage.reset(0, 10, 10);
  coverage.add(3, 1.5, 3, 1.5);
  coverage.add(3, 1.5, 2, 0.25);
  coverage.add(1, -1, 1, 1);
  coverage.add(1, 9.5, 20, 10.5);
  coverage.sortSlots();
  assert.deepEqual(coverage.slots, [1, 3]);
  assert.deepEqual(found(coverage, 1), [[0, 0.5], [9, 0.5]]);
  assert.deepEqual(found(coverage, 3), [[1, 0.75], [2, 1]]);
});

test("of thousands of slots only the columns with any time are visited", () => {
  const coverage = new Coverage();
  for (const columns of [COLUMNS, COLUMNS, COLUMNS / 2]) {
    coverage.reset(0, COLUMNS, columns);
    for (let slot = 0; slot < SLOTS; slot++) coverage.add(slot, slot % COLUMNS, (slot % COLUMNS) + 1, 1);
    coverage.add(0, 5, 6, 0);
    assert.equal(coverage.slots.length, SLOTS);
    const visited = coverage.slots.map((slot) => coverage.columnsOf(slot).length);
    assert.equal(visited.reduce((sum, count) => sum + count), SLOTS);
    assert.ok(coverage.slots.every((slot) => coverage.seconds(slot, coverage.columnsOf(slot)[0]) === 1));
  }
});

test("nothing is left of an earlier window", () => {
  const coverage = new Coverage();
  coverage.reset(0, 10, 10);
  coverage.add(2, 0, 10, 10);
  coverage.reset(0, 10, 10);
  coverage.add(2, 4, 5, 0.5);
  assert.deepEqual(found(coverage, 2), [[4, 0.5]]);
});
