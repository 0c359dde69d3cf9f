// The time axis of the history of a run's name.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { timeLabels } from "../../../frontend/charts/comparison/history.js";

const START = 1_780_000_000;

test("labels of the history's axis are as exact as their distance, and none stands twice", () => {
  for (const length of [0, 0.5, 5, 60, 240, 3600, 86_400, 3 * 86_400, 6 * 86_400, 400 * 86_400]) {
    const texts = timeLabels(START, START + length, 9).map(({ text }) => text);
    assert.equal(new Set(texts).size, texts.length, `${length} s`);
    assert.ok(texts.length >= Math.min(Math.floor(length) + 1, 10), `${length} s`);
  }
});

test("the first and the last label are those of the first and the last run", () => {
  const times = timeLabels(START, START + 240, 9).map(({ time }) => time);
  assert.deepEqual([times[0], times.at(-1)], [START, START + 240]);
});
