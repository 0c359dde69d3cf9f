// The charts of GPUs: a line for each GPU of a worker, one band in a large cluster, and a row below its threads.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { gpuMemory } from "../../../frontend/charts/series/gpu.js";
import { workerLines } from "../../../frontend/charts/series/worker_lines.js";
import { GpuRows, meanOf } from "../../../frontend/charts/task_stream/lanes/gpu_rows.js";
import { layoutLanes } from "../../../frontend/charts/task_stream/lanes/rows.js";
import { Model } from "../../../frontend/timeline/model.js";

// what colours of the theme are asked of
Object.assign(globalThis, {
  document: { documentElement: { dataset: {} } },
  getComputedStyle: () => ({ getPropertyValue: () => "#123456" }),
});

const UTILIZATION = "observatory_worker_gpu_utilization_percent";

/**
 * @param {number} count
 * @param {(number: number) => string[]} gpus of each worker, by their numbers
 * @returns {any} a context
 */
function contextOf(count, gpus) {
  const workers = [...Array(count).keys()].map((number) => ({
    id: number + 1, address: `tcp://h:${number}`, name: `w${number}`, slot: `w${number}`, position: number,
    host: "h", nthreads: 2, memory_limit: 0, started: 0, ended: null, end_reason: "", status: "running",
  })); // prettier-ignore
  let id = 0;
  const gpu = workers.flatMap((worker) =>
    gpus(worker.position).map((number) => {
      const labels = number ? { device: `GPU-${worker.id}-${number}`, gpu: number, model: "T4" } : {};
      return { id: ++id, worker: worker.id, metric: UTILIZATION, labels, interval: 1 };
    }),
  );
  const model = new Model();
  model.load(/** @type {any} */ ({ workers, lanes: [], prefixes: [], series: {} }));
  model.series.set("gpu", /** @type {any} */ (gpu));
  return { model, selection: { worker: null }, timeline: { start: 0, stop: 10 }, events: { sampleGaps: [] } };
}

/** @param {any} context */
const linesOf = (context) =>
  workerLines(context, /** @type {any} */ ({ start: 0, stop: 10 }), "gpu", () => true).map(
    ({ label, series }) => [label, series.map(({ id }) => id)],
  );

test("a worker with one GPU has the line of any worker, one with several a line for each, by number", () => {
  assert.deepEqual(linesOf(contextOf(2, () => ["0"])), [
    ["w0", [1]],
    ["w1", [2]],
  ]);
  assert.deepEqual(linesOf(contextOf(2, (number) => (number ? ["0"] : ["10", "2", "2/1"]))), [
    ["w0 GPU 2", [2]],
    ["w0 GPU 2/1", [3]],
    ["w0 GPU 10", [1]],
    ["w1", [4]],
  ]);
});

test("a GPU without labels, as a stock cluster tells it, is the worker's line", () => {
  assert.deepEqual(linesOf(contextOf(1, () => [""])), [["w0", [1]]]);
});

test("what Dask told of the first GPU before the worker's agent read all of them is no GPU of its own", () => {
  assert.deepEqual(linesOf(contextOf(2, (number) => (number ? ["", "0"] : ["", "0", "1"]))), [
    ["w0 GPU 0", [2]],
    ["w0 GPU 1", [3]],
    ["w1", [5]],
  ]);
});

test("in a large cluster all GPUs are one line, whatever their labels", () => {
  const lines = linesOf(contextOf(200, (number) => [String(number % 8), "9"]));
  assert.deepEqual(lines, [["200 workers: mean, least and most", [-1]]]);
});

test("the lines of different GPUs of a worker have colours of their own", () => {
  const view = /** @type {any} */ ({ start: 0, stop: 10 });
  const context = contextOf(2, () => ["0", "1"]);
  const colors = workerLines(context, view, "gpu", () => true).map(({ color }) => color);
  assert.equal(new Set(colors).size, 4);
});

test("a chart of what nobody reports isn't there", () => {
  assert.equal(gpuMemory.isThere?.(contextOf(1, () => ["0"])), false);
});

test("workers with GPUs have a row below their threads where there is room", () => {
  const context = contextOf(2, (number) => (number ? [] : ["0"]));
  const hasGpu = new GpuRows(context).has;
  const layOut = (/** @type {number} */ room) =>
    layoutLanes(context.model, 0, 10, room, { filter: "", open: new Set(), rank: null, hasGpu });
  const { rows, groups } = layOut(200);
  assert.deepEqual(
    rows.map(({ slot, isGpu }) => [slot, isGpu ?? false]),
    [
      ["w0", false],
      ["w0", false],
      ["w0", true],
      ["w1", false],
      ["w1", false],
    ],
  );
  assert.deepEqual(
    groups.map(({ first, count }) => [first, count]),
    [
      [0, 3],
      [3, 2],
    ],
  );
  assert.equal(layOut(26).rows.length, 4);
});

test("without GPUs, and in a large cluster, no worker has such a row", () => {
  assert.equal(new GpuRows(contextOf(2, () => [])).has, null);
  assert.equal(new GpuRows(contextOf(200, () => ["0"])).has, null);
});

test("the row of several GPUs is their mean, though they are read one after the other", () => {
  const points = (/** @type {number[]} */ time, /** @type {number[]} */ mean) => {
    return { time, mean, min: mean, max: mean, reach: 4, due: 4, breaks: new Set(), hasBand: false };
  };
  const found = meanOf([points([1, 2, 3], [90, 0, 90]), points([1.01, 2.01, 3.01], [30, 0, 10])]);
  assert.deepEqual([found.time, found.mean], [[1, 2, 3], [60, 0, 50]]); // prettier-ignore
});
