// Seconds by colour and pixel column: what is there costs something, what isn't costs nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Coverage } from "../../../frontend/charts/drawing/coverage.js";

const SLOTS = 3_000;
const COLUMNS = 1_000;

/** @param {Coverage} coverage @param {number} slot @returns {[number, number][]} column and seconds, in order */
function found(coverage, slot) {
  const places = coverage.placesOf(slot);
  /** @type {[number, number][]} */
  const pairs = coverage.columnsOf(slot).map((column, index) => [column, coverage.sums[places[index]]]);
  return pairs.sort(([one], [other]) => one - other);
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
  assert.deepEqual(found(coverage, 1), [
    [0, 0.5],
    [9, 0.5],
  ]);
  assert.deepEqual(found(coverage, 3), [
    [1, 0.75],
    [2, 1],
  ]);
});

test("many bins are spread as each is by itself", () => {
  const width = 0.7;
  const bins = Float64Array.from({ length: 200 }, (_, row) => (row * 7) % 60);
  const slots = Uint16Array.from(bins, (_, row) => row % 5);
  const seconds = Float64Array.from(bins, (_, row) => 0.1 + (row % 11) / 20);
  const rows = Uint32Array.from({ length: 150 }, (_, place) => 199 - place);
  for (const [start, stop, columns] of [
    [2.3, 30.1, 97],
    [-5, 60, 13],
    [11, 11.2, 40],
  ]) {
    const [low, high] = [Math.max(start, 0.9), Math.min(stop, 28.05)];
    const [together, single] = [new Coverage(), new Coverage()];
    for (const coverage of [together, single]) coverage.reset(start, stop, columns);
    together.addBins({ slots, rows, bins, seconds }, { origin: -0.35, width, low, high });
    for (const row of rows) {
      const begin = -0.35 + bins[row] * width;
      const [from, to] = [Math.max(begin, low), Math.min(begin + width, high)];
      if (from < to) single.add(slots[row], from, to, (seconds[row] * (to - from)) / width);
    }
    for (const coverage of [together, single]) coverage.sortSlots();
    assert.deepEqual(together.slots, single.slots);
    assert.ok(together.slots.length > 0);
    for (const slot of single.slots) {
      const [its, expected] = [found(together, slot), found(single, slot)];
      assert.deepEqual(
        its.map(([column]) => column),
        expected.map(([column]) => column),
      );
      for (const [place, [, sum]] of its.entries()) assert.ok(Math.abs(sum - expected[place][1]) < 1e-5);
    }
  }
});

test("of thousands of slots only the columns with any time are visited", () => {
  const coverage = new Coverage();
  for (const columns of [COLUMNS, COLUMNS, COLUMNS / 2]) {
    coverage.reset(0, COLUMNS, columns);
    for (let slot = 0; slot < SLOTS; slot++) coverage.add(slot, slot % COLUMNS, (slot % COLUMNS) + 1, 1);
    coverage.add(0, 5, 6, 0);
    assert.equal(coverage.slots.length, SLOTS);
    const visited = coverage.slots.map((slot) => coverage.columnsOf(slot).length);
    assert.equal(
      visited.reduce((sum, count) => sum + count),
      SLOTS,
    );
    assert.ok(coverage.slots.every((slot) => coverage.sums[coverage.placesOf(slot)[0]] === 1));
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
