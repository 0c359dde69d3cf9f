// The ticks of the time axis: round times, and texts that never overlap.

import assert from "node:assert/strict";
import { test } from "node:test";
import { clockTicks, elapsedTicks, instantText } from "../../../frontend/charts/time_axis/ticks.js";

process.env.TZ = "UTC";
const START = Date.UTC(2026, 10, 21, 22, 10, 7) / 1000;
const CHARACTER = 6.6; // px of a digit of 11 px system-ui, generously
const LENGTHS = [
  0.01,
  0.05,
  0.3,
  1,
  2,
  7,
  45,
  60,
  151,
  600,
  3600,
  5 * 3600,
  86_400,
  3 * 86_400,
  60 * 86_400,
  900 * 86_400,
];

for (const [name, ticksOf] of Object.entries({ clockTicks, elapsedTicks })) {
  test(`${name} fit every width from a phone's to a large screen's`, () => {
    for (const width of [318, 500, 756, 1130, 1468, 2400]) {
      for (const length of LENGTHS) {
        const start = START + 0.123;
        const ticks = ticksOf(start, start + length, width);
        const told = `${length} s on ${width} px: ${ticks.map((tick) => tick.text).join(" ")}`;
        assert.ok(ticks.length >= 2, `too few ticks for ${told}`);
        for (const [place, tick] of ticks.entries()) {
          assert.ok(tick.time >= start - length / 500 && tick.time <= start + length * 1.002, told);
          if (!place) continue;
          const apart = ((tick.time - ticks[place - 1].time) / length) * width;
          const needed = ((tick.text.length + ticks[place - 1].text.length) / 2) * CHARACTER;
          assert.ok(apart > needed + 4, `texts overlap for ${told}`);
          assert.notEqual(tick.text, ticks[place - 1].text, told);
        }
      }
    }
  });
}

/** @param {{text: string}[]} ticks */
const texts = (ticks) => ticks.map((tick) => tick.text);

test("clock ticks are at round times, whatever the window's start", () => {
  assert.deepEqual(texts(clockTicks(START, START + 30, 500)), [
    "22:10:10",
    "22:10:15",
    "22:10:20",
    "22:10:25",
    "22:10:30",
    "22:10:35",
  ]);
  assert.deepEqual(texts(clockTicks(START, START + 900, 500)), [
    "22:12",
    "22:14",
    "22:16",
    "22:18",
    "22:20",
    "22:22",
    "22:24",
  ]);
});

test("below a second a clock tick has just the digits that differ", () => {
  assert.deepEqual(texts(clockTicks(START, START + 0.5, 500)), [
    "22:10:07.0",
    "22:10:07.1",
    "22:10:07.2",
    "22:10:07.3",
    "22:10:07.4",
    "22:10:07.5",
  ]);
});

test("midnight is a date", () => {
  assert.deepEqual(texts(clockTicks(START, START + 4 * 3600, 500)), [
    "22:30",
    "23:00",
    "23:30",
    "Nov 22",
    "00:30",
    "01:00",
    "01:30",
    "02:00",
  ]);
});

test("elapsed ticks count from the window's start", () => {
  assert.deepEqual(texts(elapsedTicks(START, START + 151, 500)), [
    "0",
    "+30 s",
    "+1 min",
    "+1 min 30 s",
    "+2 min",
    "+2 min 30 s",
  ]);
  assert.deepEqual(texts(elapsedTicks(START, START + 0.05, 500)), [
    "0",
    "+10 ms",
    "+20 ms",
    "+30 ms",
    "+40 ms",
    "+50 ms",
  ]);
});

test("an instant has its clock time and its time since the window's start", () => {
  assert.equal(instantText(START + 12.34, START, START + 60), "22:10:19.3  +12.3 s");
});
