// The time axis of the history of a run's name.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { placedLabels, timeLabels } from "../../../frontend/charts/comparison/history.js";

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

test("the day stands once, where the labels are of one day", () => {
  const texts = timeLabels(START, START + 60, 4).map(({ text }) => text);
  assert.deepEqual(
    texts.map((text) => text.length),
    ["2026-01-31 12:00:00", "12:00:15", "12:00:30", "12:00:45", "12:01:00"].map((text) => text.length),
  );
});

test("no label lies over another one, whatever the room, and there are as many as fit", () => {
  const widthOf = (/** @type {string} */ text) => 6 * text.length;
  for (const room of [40, 150, 250, 800, 1400])
    for (const length of [0, 1, 51, 3600, 40 * 86_400]) {
      const labels = placedLabels(START, START + length, room, widthOf);
      assert.ok(labels.length, `${room} px, ${length} s`);
      for (const [at, { left }] of labels.entries())
        if (at)
          assert.ok(
            left >= labels[at - 1].left + widthOf(labels[at - 1].text) + 14,
            `${room} px, ${length} s`,
          );
    }
  assert.ok(placedLabels(START, START + 51, 1400, widthOf).length >= 7);
  assert.equal(placedLabels(START, START + 51, 250, widthOf).length, 2);
});
