// What many lines become: a band, and the few that deviate.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { placeLabels } from "../../../frontend/charts/series/end_labels.js";
import {
  areTangled,
  bandOf,
  outliersOf,
  sampled,
  summarise,
  timesOf,
} from "../../../frontend/charts/series/worker_band.js";
import { near } from "../near.js";

const WINDOW = { start: 0, stop: 100, width: 300 };
const TIMES = [...Array(101).keys()];

/** @param {(time: number) => number} value @param {number} [last] @returns {any} */
function line(value, last = 100) {
  const time = TIMES.filter((at) => at <= last);
  const mean = time.map(value);
  return {
    time,
    mean,
    min: mean,
    max: mean,
    reach: 2,
    due: 2,
    breaks: new Set([time.length - 1]),
    hasBand: false,
  };
}

/** @param {number} count @param {(number: number) => any} make */
const lines = (count, make) => [...Array(count).keys()].map(make);
const noise = (/** @type {number} */ seed) => line((time) => 50 + 40 * Math.sin(time * 2.3 + seed * 1.7));
const calm = (/** @type {number} */ number) => line((time) => number * 10 + time / 50);

test("lines are a band when there are over eight, or four that go up and down at every pixel", () => {
  const tangled = (/** @type {any[]} */ found, were = false) => areTangled(found, WINDOW, 74, were);
  assert.deepEqual([tangled(lines(9, calm)), tangled(lines(8, calm))], [true, false]);
  assert.deepEqual([tangled(lines(4, noise)), tangled(lines(3, noise))], [true, false]);
});

test("a chart whose lines are close to the limit stays as it is", () => {
  const close = lines(5, (number) => line((time) => 50 + 40 * Math.sin(time * 0.1 + number)));
  assert.deepEqual(
    [true, false].map((were) => areTangled(close, WINDOW, 74, were)),
    [true, false],
  );
});

test("the band is the median with the quantiles of 5 % and 95 %, and is interrupted where nobody is known", () => {
  const times = [0, 20, 40, 60, 80];
  const found = bandOf(
    lines(11, (number) =>
      sampled(
        line(() => number, 40),
        times,
      ),
    ),
    times,
  );
  assert.deepEqual(
    [found.time, found.mean],
    [
      [0, 20, 40],
      [5, 5, 5],
    ],
  );
  near(found.min[0], 0.5);
  near(found.max[0], 9.5);
  assert.deepEqual([...found.breaks], [2]);
});

test("the times of a band stay the same while the window moves", () => {
  const moved = new Set(timesOf({ ...WINDOW, start: 7, stop: 107 }));
  assert.ok(
    timesOf(WINDOW)
      .filter((time) => time > 8)
      .every((time) => moved.has(time)),
  );
});

test("lines that are far from the median are outliers, the farthest first, and noise alone makes none", () => {
  const usual = lines(10, (number) => line((time) => 50 + 5 * Math.sin(time + number)));
  const found = [...usual, line(() => 90), line(() => 5), line(() => 99)];
  const outliers = (/** @type {any[]} */ all) => {
    const times = timesOf(WINDOW);
    const values = all.map((points) => sampled(points, times));
    return outliersOf(values, times, bandOf(values, times));
  };
  assert.deepEqual([outliers(found), outliers(usual)], [[12, 11, 10], []]);
});

test("over the band are the scheduler, the outliers and the chosen worker, once and last", () => {
  const points = [
    ...lines(10, (number) => line((time) => 50 + Math.sin(time + number))),
    line(() => 95),
    line(() => 10),
    line(() => 1),
  ];
  const named = points.map((_, place) => ({
    series: [],
    label: `w${place}`,
    color: "",
    slot: place === 12 ? null : `w${place}`,
  }));
  const labels = (/** @type {string|null} */ chosen) =>
    summarise(named, points, WINDOW, chosen, "").lines.map(({ label }) => label);
  const all = "12 workers: median, 5 % to 95 %";
  assert.deepEqual(labels(null), [all, "w12", "w10", "w11"]);
  assert.deepEqual(labels("w10"), [all, "w12", "w11", "w10"]);
  assert.deepEqual(labels("w3"), [all, "w12", "w10", "w11", "w3"]);
});

test("names at the ends of lines move apart and away from other labels; one without room is left out", () => {
  const label = (/** @type {number} */ y, x = 100) => ({ x, y, width: 50 });
  const places = placeLabels(
    [label(40), label(41), label(39), label(40, 200)],
    [{ x: 120, y: 10, width: 30 }],
    84,
  );
  assert.deepEqual(places, [40, 53, 27, 40]);
  const many = placeLabels(
    lines(9, () => label(0)),
    [],
    84,
  );
  const shown = many.filter((place) => place !== null).sort((one, other) => one - other);
  assert.equal(shown.length, 6);
  assert.ok(shown.every((place, number) => !number || place - shown[number - 1] >= 13));
  assert.ok(shown[0] >= 6.5 && shown[5] <= 84 - 6.5);
});
