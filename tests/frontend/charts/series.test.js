// What the charts make of series: no line across a gap, sums that are sums.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { emptyText, unbroken } from "../../../frontend/charts/series/series_chart.js";
import { pointsOf, stack, valueAt } from "../../../frontend/charts/series/series_points.js";
import { ticks, units } from "../../../frontend/charts/series/value_axis.js";
import { bins, decoded } from "../make.js";

/** @param {number[]} time @param {number[]} mean @returns {any} */
const points = (time, mean, gap = 4) => ({ time, mean, min: mean, max: mean, gap });

/** @param {string} layer @param {Parameters<typeof bins>[1]} rows @returns {any} */
function tile(layer, rows, start = 0, stop = 10) {
  return { layer, start, stop, binWidth: 1, blocks: new Map([["bin", decoded(bins(layer, rows))]]) };
}

/** @param {...number} ids @returns {any} */
const series = (...ids) => new Map(ids.map((id) => [id, { id, interval: 1 }]));

test("no line is drawn across a gap", () => {
  assert.deepEqual(unbroken([1, 2, 3, 9, 10], 4), [[0, 2], [3, 4]]);
  assert.deepEqual(unbroken([], 4), []);
  assert.deepEqual(unbroken([5], 4), [[0, 0]]);
});

test("a value of before a gap says nothing of an instant in it", () => {
  const one = points([1, 2, 20], [10, 20, 30]);
  assert.deepEqual([0.5, 1, 2.5, 6.5, 20].map((at) => valueAt(one, at)), [null, 10, 20, null, 30]);
});

test("areas on top of each other sum up at the times of all", () => {
  const found = stack([points([1, 2, 3], [1, 1, 1]), points([1, 3], [5, 7]), points([], [])]);
  assert.deepEqual(found.time, [1, 2, 3]);
  assert.deepEqual(found.tops, [[1, 1, 1], [6, 6, 8], [6, 6, 8]]);
});

test("a tile draws its own interval and only what is wanted", () => {
  const rows = /** @type {any} */ ([[1, 5, 10], [1, 15, 20], [2, 5, 99]]);
  const found = pointsOf([tile("memory", rows, 0, 10), tile("memory", rows, 10, 20)], series(1));
  assert.deepEqual([...found].map(([id, one]) => [id, one.time, one.mean]), [[1, [5, 15], [10, 20]]]);
});

test("all workers together are told apart from the one whose number they bear", () => {
  const found = pointsOf([tile("memory.all", [[1, 5, 10]]), tile("memory", [[1, 5, 20]])], series(1, -1));
  assert.deepEqual([found.get(-1)?.mean, found.get(1)?.mean], [[10], [20]]);
});

test("ticks are round and reach the highest value", () => {
  assert.deepEqual(ticks(100, units.percent), [0, 50, 100]);
  assert.deepEqual(ticks(3 * 2 ** 30, units.bytes).map((each) => each / 2 ** 30), [0, 1, 2, 3]);
  assert.deepEqual(ticks(0, units.count), [0, 1]);
});

test("a chart without values says what was not recorded, before it blames the cluster", () => {
  const label = "1,234 samples were dropped: the database was too slow";
  const gap = /** @type {any} */ ({ start: 1, stop: 2, kind: "dropped", concerns: "samples", label });
  assert.equal(emptyText("No worker has reported its memory.", []), "No worker has reported its memory.");
  assert.equal(emptyText("No worker has reported its memory.", [gap, gap]), `Records of this window are missing: ${label}.`);
});
