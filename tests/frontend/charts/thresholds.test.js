// The lines of a worker's limit and of Dask's thresholds are by its own configuration.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { thresholdLines } from "../../../frontend/charts/series/thresholds.js";

const DEFAULTS = { target: 0.6, spill: 0.7, pause: 0.8, terminate: 0.95 };
const OWN = { target: 0.5, spill: 0, pause: 0.9, terminate: 0 };

/**
 * @param {number} limit
 * @param {typeof DEFAULTS|null} thresholds
 */
function worker(limit, thresholds) {
  const times = { started: 0, ended: null, end_reason: "", status: "running", tags: {} };
  const names = { id: 1, address: "tcp://h:1", name: "w", slot: "w", host: "h" };
  return { ...names, ...times, nthreads: 1, memory_limit: limit, position: 0, process: null, thresholds };
}

/** @param {ReturnType<typeof worker>[]} workers */
function lines(...workers) {
  return thresholdLines(workers, DEFAULTS).map(({ value, label }) => [label, Math.round(value)]);
}

test("a worker's thresholds are its own, without those that it doesn't have", () => {
  assert.deepEqual(lines(worker(1000, OWN)), [
    ["limit", 1000],
    ["pause 90 %", 900],
    ["target 50 %", 500],
  ]);
});

test("where they aren't known, the lines are Dask's defaults and say so", () => {
  assert.deepEqual(lines(worker(1000, null)), [
    ["limit", 1000],
    ["terminate 95 % by default", 950],
    ["pause 80 % by default", 800],
    ["spill 70 % by default", 700],
    ["target 60 % by default", 600],
  ]);
});

test("workers that differ have lines each, as long as these are few", () => {
  assert.deepEqual(lines(worker(1000, OWN), worker(2000, OWN), worker(1000, OWN)), [
    ["limit", 1000],
    ["limit", 2000],
    ["pause 90 %", 900],
    ["pause 90 %", 1800],
    ["target 50 %", 500],
    ["target 50 %", 1000],
  ]);
  assert.deepEqual(lines(...[1, 2, 3, 4].map((size) => worker(size, OWN))), []);
});

test("a worker without a limit has no thresholds", () => {
  assert.deepEqual(lines(worker(0, OWN), worker(1000, OWN)), []);
});
