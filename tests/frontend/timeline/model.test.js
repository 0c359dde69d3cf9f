// What a cluster consists of.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../../../frontend/timeline/model.js";
import { FIRST, bins, decoded, encode } from "../make.js";

/** @returns {any} */
function worker(id, name, started, ended = /** @type {number|null} */ (null)) {
  return { id, name, address: "", nthreads: 2, started, ended };
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

test("workers come in the order of their names with those that lived in the window", () => {
  const model = load([worker(1, "10", 0), worker(2, "2", 0), worker(3, "1", 0, 10), worker(4, "3", 20)]);
  const names = model.workersBetween(10, 20).map((each) => each.name);
  assert.deepEqual(names, ["2", "10"]);
  assert.equal(model.peakThreads(0, 100), 6);
});

test("the spans of a worker are in the band of its position", () => {
  const ids = [...Array(25).keys()];
  const workers = ids.map((id) => ({ id: 100 - id, position: id, name: "", address: "", started: 0 }));
  const lanes = ids.map((id) => ({ id, worker: 100 - id, thread: 1, position: 0 }));
  const model = load(workers.slice(0, 10), lanes.slice(0, 10), 10);
  assert.equal(model.bands, 1);
  model.load(/** @type {any} */ ({ workers, lanes, prefixes: [], series: {} }));
  assert.equal(model.bands, 3);
  assert.deepEqual(
    [0, 9, 10, 24].map((lane) => model.spansLayer(lane)),
    ["spans", "spans", "spans.1", "spans.2"],
  );
});
