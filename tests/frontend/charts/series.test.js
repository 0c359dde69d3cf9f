// What the charts make of series: no line across a gap, sums that are sums.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { emptyText } from "../../../frontend/charts/series/series_chart.js";
import { rank } from "../../../frontend/charts/series/prefix_memory.js";
import {
  breaksOf,
  joinPoints,
  pointsOf,
  runsOf,
  stack,
  sumPoints,
  valueAt,
} from "../../../frontend/charts/series/series_points.js";
import { ticks, units } from "../../../frontend/charts/series/value_axis.js";
import { bins, decoded } from "../make.js";

/** @param {number[]} time @param {number[]} mean @param {any} gaps @returns {any} */
function points(time, mean, gaps = [], reach = 4) {
  return { time, mean, min: mean, max: mean, reach, due: reach, breaks: breaksOf(time, reach, gaps) };
}

/** @param {string} layer @param {Parameters<typeof bins>[1]} rows @returns {any} */
function tile(layer, rows, start = 0, stop = 10) {
  return { layer, start, stop, binWidth: 1, blocks: new Map([["bin", decoded(bins(layer, rows))]]) };
}

/** @param {...number} ids @returns {any} */
const series = (...ids) => new Map(ids.map((id) => [id, { id, interval: 1 }]));

/** @param {number[]} time @param {any} gaps */
const runs = (time, gaps) => runsOf(time, breaksOf(time, 4, gaps));

test("no line is drawn across a gap in the recording", () => {
  assert.deepEqual(runs([1, 2, 3, 9, 10], [{ start: 3.5, stop: 8.5, worker: null }]), [
    [0, 2],
    [3, 4],
  ]);
  assert.deepEqual(runs([1, 2, 3, 9, 10], [{ start: 5, stop: 5, worker: null }]), [
    [0, 2],
    [3, 4],
  ]);
  assert.deepEqual(runs([1, 2, 3], [{ start: 3.5, stop: null, worker: null }]), [[0, 2]]);
  assert.deepEqual(runs([], []), []);
  assert.deepEqual(runs([5], []), [[0, 0]]);
});

test("samples that come slower than usual are joined", () => {
  assert.deepEqual(runs([1, 2, 12, 22, 32, 33], []), [[0, 5]]);
  assert.deepEqual(runs([1, 2, 12, 22], [{ start: 50, stop: 60, worker: null }]), [[0, 3]]);
});

test("samples that continue in a gap of another source are joined", () => {
  assert.deepEqual(runs([1, 2, 3, 4, 5, 6], [{ start: 2, stop: 5, worker: null }]), [[0, 5]]);
});

test("a gap of one worker interrupts its series alone, where their answer was due and did not come", () => {
  const rows = /** @type {any} */ ([
    [1, 0, 1],
    [1, 5, 1],
    [1, 20, 1],
    [2, 0, 1],
    [2, 5, 1],
    [2, 20, 1],
    [3, 4, 1],
    [3, 5, 1],
    [3, 6, 1],
    [3, 20, 1],
  ]);
  const wanted = new Map([
    [1, { id: 1, interval: 5, worker: 7 }],
    [2, { id: 2, interval: 5, worker: 8 }],
    [3, { id: 3, interval: 5, worker: null }],
  ]);
  const found = pointsOf([tile("memory", rows, 0, 30)], /** @type {any} */ (wanted), [
    { start: 5, stop: 20, worker: 7 },
  ]);
  const runs = [1, 2, 3].map((id) => runsOf(found.get(id)?.time ?? [], found.get(id)?.breaks ?? new Set()));
  assert.deepEqual(runs, [
    [
      [0, 1],
      [2, 2],
    ],
    [[0, 2]],
    [[0, 3]],
  ]);
});

test("a value of before a gap says nothing of an instant in it", () => {
  const one = points([1, 2, 20], [10, 20, 30], [{ start: 3, stop: 19, worker: null }]);
  assert.deepEqual(
    [0.5, 1, 2.5, 6.5, 20].map((at) => valueAt(one, at)),
    [null, 10, 20, null, 30],
  );
  const slow = points([1, 2, 20], [10, 20, 30]);
  assert.deepEqual(
    [6.5, 19, 23, 25].map((at) => valueAt(slow, at)),
    [20, 20, 30, null],
  );
});

test("areas on top of each other sum up at the times of all", () => {
  const found = stack([points([1, 2, 3], [1, 1, 1]), points([1, 3], [5, 7]), points([], [])], []);
  assert.deepEqual(found.time, [1, 2, 3]);
  assert.deepEqual(found.tops, [
    [1, 1, 1],
    [6, 6, 8],
    [6, 6, 8],
  ]);
});

test("an area whose samples come slowly stays below those of faster ones", () => {
  const fast = Array.from({ length: 31 }, (_, second) => second);
  const found = stack(
    [
      points(
        fast,
        fast.map(() => 1),
      ),
      points([0, 10, 20, 30], [5, 5, 5, 5]),
    ],
    [],
  );
  assert.deepEqual(new Set(found.tops[1]), new Set([6]));
  assert.deepEqual(runsOf(found.time, found.breaks), [[0, 30]]);
});

test("a tile draws its own interval and only what is wanted", () => {
  const rows = /** @type {any} */ ([
    [1, 5, 10],
    [1, 15, 20],
    [2, 5, 99],
  ]);
  const found = pointsOf([tile("memory", rows, 0, 10), tile("memory", rows, 10, 20)], series(1), []);
  assert.deepEqual(
    [...found].map(([id, one]) => [id, one.time, one.mean]),
    [[1, [5, 15], [10, 20]]],
  );
});

test("all workers together are told apart from the one whose number they bear", () => {
  const found = pointsOf([tile("memory.all", [[1, 5, 10]]), tile("memory", [[1, 5, 20]])], series(1, -1), []);
  assert.deepEqual([found.get(-1)?.mean, found.get(1)?.mean], [[10], [20]]);
});

test("ticks are round and reach the highest value", () => {
  assert.deepEqual(ticks(100, units.percent), [0, 50, 100]);
  assert.deepEqual(
    ticks(3 * 2 ** 30, units.bytes).map((each) => each / 2 ** 30),
    [0, 1, 2, 3],
  );
  assert.deepEqual(ticks(0, units.count), [0, 1]);
});

test("a chart without values says what was not recorded, before it blames the cluster", () => {
  const label = "1,234 samples were dropped: the database was too slow";
  const gap = /** @type {any} */ ({ start: 1, stop: 2, kind: "dropped", concerns: "samples", label });
  assert.equal(emptyText("No worker has reported its memory.", []), "No worker has reported its memory.");
  assert.equal(
    emptyText("No worker has reported its memory.", [gap, gap]),
    `Records of this window are missing: ${label}.`,
  );
});

test("the lifetimes of a worker are one line that is interrupted between them; the later one covers the earlier", () => {
  const joined = joinPoints([points([1, 2, 3, 6], [10, 11, 12, 13]), points([5, 6, 7], [1, 2, 3])]);
  assert.deepEqual(joined.time, [1, 2, 3, 5, 6, 7]);
  assert.deepEqual(joined.mean, [10, 11, 12, 1, 2, 3]);
  assert.deepEqual(runsOf(joined.time, joined.breaks), [
    [0, 2],
    [3, 5],
  ]);
});

test("the sum of series has their times, and counts what one of them does not know as nothing", () => {
  const sum = sumPoints([points([1, 2, 3], [10, 20, 30]), points([2, 4], [1, 2])], []);
  assert.deepEqual(
    [sum.time, sum.mean],
    [
      [1, 2, 3, 4],
      [10, 21, 31, 32],
    ],
  );
  assert.deepEqual([sum.min, sum.max], [sum.mean, sum.mean]);
});

test("prefixes are ranked by their memory over time, and those without any are left out", () => {
  const rows = /** @type {any} */ ([
    [1, 0, 5],
    [2, 0, 3],
    [2, 1, 3],
    [3, 0, 0],
  ]);
  const all = /** @type {any} */ ([1, 2, 3, 4].map((id) => ({ id })));
  assert.deepEqual(
    rank([tile("prefix-memory", rows)], all).map(({ id }) => id),
    [2, 1],
  );
});
