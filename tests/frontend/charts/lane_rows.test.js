// Where the rows of the task stream lie, from a few threads to a thousand workers.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { layoutLanes } from "../../../frontend/charts/task_stream/lanes/rows.js";
import { labelsOf, valueOf, valuesOf } from "../../../frontend/timeline/labels.js";
import { Model } from "../../../frontend/timeline/model.js";

/**
 * @param {number} hosts
 * @param {number} workers on each host
 * @param {number} threads of each worker
 * @param {{room?: number, filter?: string, open?: string[], isSorted?: boolean, halfDied?: boolean, fills?: boolean}} options
 *   `halfDied`: each second worker ended before the next one started
 */
function layOut(hosts, workers, threads, options = {}) {
  const { room = 500, filter = "", open = [], isSorted = false, halfDied = false, fills = false } = options;
  const numbers = [...Array(hosts * workers).keys()];
  const all = numbers.map((number) => {
    const host = `10.0.0.${Math.floor(number / workers)}`;
    return {
      id: number + 1,
      address: `tcp://${host}:${4000 + number}`,
      name: String(number),
      slot: String(number),
      position: number,
      host,
      nthreads: threads,
      memory_limit: 0,
      started: halfDied && number % 2 ? 600 : number % 7,
      ended: halfDied && number % 2 === 0 ? 500 : null,
      end_reason: "",
      status: number === 2 ? "paused" : "running",
    };
  });
  const lanes = numbers.flatMap((number) =>
    [...Array(threads).keys()].map((position) => {
      return { id: number * threads + position + 1, worker: number + 1, thread: 1, position };
    }),
  );
  const model = new Model();
  model.load(/** @type {any} */ ({ workers: all, lanes, prefixes: [], series: {} }));
  const rank = isSorted ? (/** @type {any} */ slot) => -slot.lifetimes[0].started : null;
  const layout = layoutLanes(model, 0, 1000, room, { filter, open: new Set(open), rank, fills });
  const groups = layout.groups.map((group) => ({
    ...group,
    workers: group.slots.flatMap(({ lifetimes }) => lifetimes.map(({ id }) => id)),
  }));
  return { ...layout, groups };
}

/** @param {number} first @param {number} last */
const range = (first, last) => [...Array(last - first + 1).keys()].map((number) => first + number);

test("of a worker that came again with another label, the lifetimes with the chosen value have rows", () => {
  const lifetime = (/** @type {number} */ id, /** @type {string} */ version) => ({
    id, address: `tcp://h:${id}`, name: "w", slot: "w", position: 0, host: "h", nthreads: 1, memory_limit: 0,
    started: 100 * id, ended: id === 1 ? 150 : null, end_reason: "", status: "running", tags: { version },
  }); // prettier-ignore
  const model = new Model();
  const lanes = [1, 2].map((id) => ({ id: 10 * id, worker: id, thread: 1, position: 0 }));
  model.load(
    /** @type {any} */ ({ workers: [lifetime(1, "a"), lifetime(2, "b")], lanes, prefixes: [], series: {} }),
  );
  const wishes = { filter: "", open: new Set(), rank: null };
  const rowsOf = (/** @type {string|null} */ version) =>
    layoutLanes(model, 0, 1000, 500, {
      ...wishes,
      keepLifetime: version === null ? null : (worker) => valueOf(worker, "version") === version,
    }).rows;
  assert.deepEqual(
    rowsOf(null).map(({ lanes }) => lanes),
    [[10, 20]],
  );
  assert.deepEqual(
    rowsOf("b").map(({ lanes }) => lanes),
    [[20]],
  );
  assert.deepEqual(rowsOf("c"), []);
});

test("labels are those that differ, and a label of Object's own is none", () => {
  const worker = (/** @type {any} */ tags, host = "h") =>
    /** @type {any} */ ({ host, address: "tcp://h:1", tags });
  const workers = [
    worker({ version: "10", zone: "x" }),
    worker({ version: "9", zone: "x" }),
    worker({ zone: "x" }),
  ];
  assert.deepEqual(labelsOf(workers), ["version"]);
  assert.deepEqual(valuesOf(workers, "version"), ["9", "10", "unknown"]);
  assert.equal(valueOf(workers[0], "constructor"), "unknown");
  assert.equal(valueOf(workers[0], "__proto__"), "unknown");
  assert.deepEqual(labelsOf([worker({}), worker({}, "g")]), ["host"]);
});

test("threads that fit have a row each", () => {
  const { rows, groups } = layOut(1, 4, 2);
  assert.deepEqual(
    rows.map((row) => row.lanes),
    range(1, 8).map((lane) => [lane]),
  );
  assert.ok(rows.every((row) => row.threads === 1));
  assert.deepEqual(
    groups.map((group) => group.folds),
    [null, null, null, null],
  );
});

test("more threads than fit are a row a worker", () => {
  const { rows, groups } = layOut(2, 10, 8);
  assert.equal(rows.length, 20);
  assert.deepEqual(rows[1], { lanes: range(9, 16), threads: 8, slot: "1" });
  assert.ok(groups.every((group) => group.folds));
});

test("an unfolded worker shows its threads between the others", () => {
  const { rows } = layOut(2, 10, 8, { open: ["worker 1"] });
  assert.equal(rows.length, 19 + 8);
  assert.deepEqual(
    rows.slice(1, 9).map((row) => row.lanes),
    range(9, 16).map((lane) => [lane]),
  );
});

test("more workers than fit are a row a host and unfold into workers", () => {
  const { rows } = layOut(20, 50, 4);
  assert.equal(rows.length, 20);
  assert.equal(rows[0].threads, 200);
  assert.equal(rows[0].lanes.length, 200);
  const unfolded = layOut(20, 50, 4, { open: ["host 10.0.0.0"] });
  assert.equal(unfolded.rows.length, 20 + 50);
  assert.deepEqual(
    unfolded.groups.slice(0, 3).map((group) => group.depth),
    [0, 1, 1],
  );
});

test("every lane is in just one row however they are grouped", () => {
  for (const [hosts, workers, threads] of [
    [1, 3, 2],
    [1, 100, 4],
    [10, 10, 8],
    [40, 25, 2],
  ]) {
    const lanes = layOut(hosts, workers, threads).rows.flatMap((row) => row.lanes);
    assert.deepEqual(
      lanes.sort((one, other) => one - other),
      range(1, hosts * workers * threads),
    );
  }
});

test("one host is not folded into one row", () => {
  assert.equal(layOut(1, 200, 4).rows.length, 200);
});

test("a worker that came again is not counted twice", () => {
  const { rows } = layOut(2, 50, 2, { room: 100, halfDied: true });
  assert.deepEqual(
    rows.map((row) => row.threads),
    [50, 50],
  );
});

test("workers are found by name, host and status", () => {
  for (const [filter, expected] of /** @type {[string, number[]][]} */ ([
    ["paused", [3]],
    ["10.0.0.1 running", [5, 6, 7, 8]],
    [":4003", [4]],
    ["nobody", []],
  ])) {
    const { groups } = layOut(2, 4, 1, { filter });
    assert.deepEqual(groups.flatMap((group) => group.workers).sort(), expected);
  }
});

test("workers are sorted by what people choose", () => {
  const { groups } = layOut(1, 7, 1, { isSorted: true });
  assert.deepEqual(
    groups.map((group) => group.workers),
    [7, 6, 5, 4, 3, 2, 1].map((number) => [number]),
  );
});

/** Three lifetimes of w-10, of two, two and three threads; then w-9. */
function restarted() {
  const model = new Model();
  const worker = (
    /** @type {number} */ id,
    /** @type {string} */ name,
    /** @type {number} */ started,
    /** @type {number|null} */ ended,
    nthreads = 2,
  ) => ({
    id,
    name,
    slot: name,
    address: `tcp://h:${id}`,
    host: "h",
    nthreads,
    started,
    ended,
    end_reason: ended ? "lost" : "",
    status: "running",
    position: id,
  });
  const workers = [
    worker(1, "w-10", 0, 100),
    worker(2, "w-10", 110, 200),
    worker(3, "w-10", 199, null, 3),
    worker(4, "w-9", 0, null),
  ];
  const lanes = workers.flatMap(({ id, nthreads }) =>
    [...Array(nthreads).keys()].map((position) => ({
      id: 10 * id + position,
      worker: id,
      thread: 1,
      position,
    })),
  );
  model.load(/** @type {any} */ ({ workers, lanes, prefixes: [], series: {} }));
  return model;
}

const usual = { filter: "", open: new Set(/** @type {string[]} */ ([])), rank: null };

test("the lifetimes of a worker that came again share its rows, the later one last", () => {
  const { rows, groups } = layoutLanes(restarted(), 0, 300, 500, usual);
  assert.deepEqual(
    groups.map(({ label, count }) => [label, count]),
    [
      ["w-9", 2],
      ["w-10", 3],
    ],
  );
  assert.deepEqual(
    rows.map((row) => row.lanes),
    [[40], [41], [10, 20, 30], [11, 21, 31], [32]],
  );
  assert.deepEqual(
    rows.map((row) => row.threads),
    [1, 1, 1, 1, 1],
  );
});

test("a row that stands for a worker that came again is full when the threads of one lifetime are busy", () => {
  const { rows } = layoutLanes(restarted(), 0, 300, 28, usual);
  assert.deepEqual(
    rows.map(({ slot, threads, lanes }) => [slot, threads, lanes.length]),
    [
      ["w-9", 2, 2],
      ["w-10", 3, 7],
    ],
  );
});

test("a window has the lifetimes of its time alone", () => {
  const { rows } = layoutLanes(restarted(), 0, 50, 500, usual);
  assert.deepEqual(
    rows.map((row) => row.lanes),
    [[40], [41], [10], [11]],
  );
});

test("a worker is found by any of its lifetimes", () => {
  const labels = (/** @type {string} */ filter) =>
    layoutLanes(restarted(), 0, 300, 500, { ...usual, filter }).groups.map(({ label }) => label);
  assert.deepEqual(
    [labels("lost"), labels("h:2"), labels("running"), labels("w-9 lost")],
    [["w-10"], ["w-10"], ["w-9", "w-10"], []],
  );
});

test("rows that fill the room are as high as it allows, up to 100 px, and never lower than other rows", () => {
  const heights = (
    /** @type {number} */ workers,
    /** @type {number} */ threads,
    /** @type {boolean} */ fills,
  ) => {
    const { rows, height } = layOut(1, workers, threads, { room: 400, fills });
    return [rows.length, height];
  };
  assert.deepEqual(heights(2, 2, true), [4, 100]);
  assert.deepEqual(heights(2, 2, false), [4, 22]);
  assert.deepEqual(heights(1, 1, true), [1, 100]);
  const [rows, height] = heights(16, 3, true);
  assert.ok(rows * height === 400, "48 rows have no remainder below them");
  assert.deepEqual(heights(40, 2, true), heights(40, 2, false).with(1, 13));
});
