// What a cluster consists of.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../../../frontend/timeline/model.js";
import { formatWorkers, pausesOf, shortName } from "../../../frontend/timeline/slots.js";
import { FIRST, bins, decoded, encode } from "../make.js";

/** @returns {any} */
function worker(id, name, started, ended = /** @type {number|null} */ (null)) {
  return { id, name, slot: name, address: "", nthreads: 2, started, ended };
}

/** @param {number} [band] @returns {any} */
function load(workers, lanes = [], band = undefined) {
  const model = new Model(band);
  model.load(/** @type {any} */ ({ workers, lanes, prefixes: [], series: {} }));
  return model;
}

test("live blocks add to what was loaded", () => {
  const model = load([worker(1, "w1", 0)]);
  const items = {
    worker: [worker(1, "w1", 0, 5), worker(2, "w2", 3)],
    lane: [{ id: 8, worker: 2, thread: 1, position: 0 }],
    prefix: [{ id: 4, name: "inc", color: "#112233" }],
    series: [{ id: 9, worker: 2, metric: "m", labels: {}, interval: 1 }],
  };
  const parts = Object.entries(items).map(([kind, list]) => encode(kind, 0, [], { items: list }));
  for (const block of decoded(...parts, bins("memory", [[9, FIRST, 1]]))) model.apply(block);
  const ids = (list) => list.map((item) => item.id);
  assert.equal(model.workers.get(1).ended, 5);
  assert.deepEqual(ids(model.lanesOf(2)), [8]);
  assert.deepEqual([model.prefixName(4), model.color(4)], ["inc", "#112233"]);
  assert.deepEqual(ids(model.seriesOf("memory")), [9]);
});

test("series of equal labels come as one group, and are in the order of their appearance", () => {
  const model = load([worker(1, "w1", 0), worker(2, "w2", 0)]);
  const group = (type, ids) => ({ ids, workers: [1, 2], metric: "m", labels: { type }, interval: 2 });
  const memory = [group("process", [5, 8]), group("managed", [6, 7])];
  model.load(/** @type {any} */ ({ workers: [], lanes: [], prefixes: [], series: { memory } }));
  const found = model.seriesOf("memory").map(({ id, worker, labels }) => [id, worker, labels.type]);
  assert.deepEqual(found, [
    [5, 1, "process"],
    [6, 1, "managed"],
    [7, 2, "managed"],
    [8, 2, "process"],
  ]);
});

test("workers come in the order of their names with those that lived in the window", () => {
  const model = load([worker(1, "10", 0), worker(2, "2", 0), worker(3, "1", 0, 10), worker(4, "3", 20)]);
  const names = model.workersBetween(10, 20).map((each) => each.name);
  assert.deepEqual(names, ["2", "10"]);
  assert.equal(model.peakThreads(0, 100), 6);
});

test("the spans of a worker are in the band of its position", () => {
  const ids = [...Array(25).keys()];
  const workers = ids.map((id) => ({
    id: 100 - id,
    position: id,
    slot: String(id),
    name: "",
    address: "",
    started: 0,
  }));
  const lanes = ids.map((id) => ({ id, worker: 100 - id, thread: 1, position: 0 }));
  const model = load(workers.slice(0, 10), lanes.slice(0, 10), 10);
  assert.ok(!model.isLarge);
  assert.deepEqual(model.bandsBetween(0, 1), [0]);
  model.load(/** @type {any} */ ({ workers, lanes, prefixes: [], series: {} }));
  assert.ok(model.isLarge);
  assert.deepEqual(model.bandsBetween(0, 1), [0, 1, 2]);
  assert.deepEqual(
    [0, 9, 10, 24].map((lane) => model.spansLayer(lane)),
    ["spans", "spans", "spans.1", "spans.2"],
  );
});

test("the bands of a window are those of its workers, wherever these are among all of the cluster", () => {
  const model = load(
    [
      { ...worker(1, "a", 0, 5), position: 150 },
      { ...worker(2, "b", 10), position: 201 },
    ],
    [],
    10,
  );
  assert.deepEqual(model.bandsBetween(0, 20), [15, 20]);
  assert.deepEqual(model.bandsBetween(6, 20), [20]);
  assert.deepEqual(model.bandsBetween(6, 8), [0]);
  model.load(
    /** @type {any} */ ({
      workers: [{ ...worker(3, "c", 6), position: 31 }],
      lanes: [],
      prefixes: [],
      series: {},
    }),
  );
  assert.deepEqual(model.bandsBetween(6, 8), [3]);
});

test("a worker that came again is one slot, whichever of its lifetimes is selected", () => {
  const model = load([worker(1, "a", 0, 5), worker(2, "b", 0), worker(3, "a", 6, 9), worker(4, "a", 20)]);
  assert.deepEqual([...model.slots.keys()], ["a", "b"]);
  for (const id of [1, 3, 4]) assert.deepEqual(model.lifetimesOf(id), [1, 3, 4]);
  assert.deepEqual([model.lifetimesOf(null), model.slotOf(99)], [[], null]);
  assert.deepEqual(
    model.slotsBetween(4, 8).map(({ lifetimes }) => lifetimes.map(({ id }) => id)),
    [[1, 3], [2]],
  );
});

test("workers are counted, and their lifetimes where some came again", () => {
  assert.deepEqual(
    [formatWorkers(3, 7), formatWorkers(1, 1), formatWorkers(0, 0)],
    ["3 workers (7 lifetimes)", "1 worker", "0 workers"],
  );
});

test("between two lifetimes is a pause, unless they overlap", () => {
  const pauses = (/** @type {any[]} */ ...lifetimes) => pausesOf(lifetimes);
  assert.deepEqual(pauses(worker(1, "a", 0, 5), worker(2, "a", 6, 9), worker(3, "a", 8)), [
    { start: 5, stop: 6 },
  ]);
});

test("a long name is shortened in its middle", () => {
  assert.equal(shortName("dask-worker-pool-a-x2kqz", 11), "dask-…x2kqz");
  assert.equal(shortName("dask-0", 6), "dask-0");
});
