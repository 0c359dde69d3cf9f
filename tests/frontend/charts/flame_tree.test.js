// Which samples a flame graph sums, and into what tree.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Server } from "../clock.js";
import {
  functionName,
  largestOf,
  makeTree,
  sumStacks,
  usages,
} from "../../../frontend/charts/flame_graph/tree.js";
import { Stacks } from "../../../frontend/timeline/tiles/stacks.js";
import { FIRST, decoded, profile, stacks } from "../make.js";

const [SCHEDULER, NO_PREFIX, TASK, LOOP] = [-1, 0, 0, 1];
const ROWS = profile([
  [FIRST + 1, 1, 1, TASK, 2, 50],
  [FIRST + 2, 2, 1, TASK, 2, 10],
  [FIRST + 2, 1, 2, TASK, 3, 30],
  [FIRST + 3, 1, 1, TASK, 1, 10],
  [FIRST + 3, 1, NO_PREFIX, LOOP, 4, 7],
  [FIRST + 3, SCHEDULER, NO_PREFIX, LOOP, 4, 3],
  [FIRST + 90, 1, 1, TASK, 5, 1000],
]);

/** @returns {any} */
function tile(start = 0, stop = FIRST + 1e6) {
  return { layer: "profile", start, stop, blocks: new Map([["profile", decoded(ROWS)]]) };
}

/** @param {any[]} tiles @param {number} start @param {number} stop seconds after FIRST */
function sums(
  tiles,
  start,
  stop,
  { source = "tasks", worker = null, prefix = null } = /** @type {any} */ ({}),
) {
  const slot = worker === null ? null : /** @type {any} */ ({ key: "", lifetimes: [{ id: worker }] });
  return sumStacks(tiles, { start: FIRST + start, stop: FIRST + stop }, { source, slot, prefix });
}

for (const [wanted, expected] of /** @type {[object, object][]} */ ([
  [{ source: "tasks" }, { 1: 10, 2: 60, 3: 30 }],
  [{ source: "tasks", worker: 2 }, { 2: 10 }],
  [
    { source: "tasks", worker: 1, prefix: 1 },
    { 1: 10, 2: 50 },
  ],
  [{ source: "workers", worker: 1, prefix: 2 }, { 4: 7 }],
  [{ source: "scheduler", worker: 1, prefix: 2 }, { 4: 3 }],
])) {
  test(`samples are those of the window and of what is selected: ${JSON.stringify(wanted)}`, () => {
    assert.deepEqual(Object.fromEntries(sums([tile()], 0, 10, wanted)), expected);
  });
}

test("two tiles and two windows beside each other count a sample once", () => {
  const total = (/** @type {any[]} */ tiles, /** @type {number} */ start, /** @type {number} */ stop) =>
    [...sums(tiles, start, stop).values()].reduce((sum, count) => sum + count, 0);
  assert.equal(total([tile(0, FIRST + 2), tile(FIRST + 2)], 0, 10), 100);
  assert.deepEqual([total([tile()], 0, 2), total([tile()], 2, 10)], [90, 10]);
});

test("a function that calls itself counts once in its total", async () => {
  const [run, inc] = ["run\t/lib/pool.py\t8", "inc\t/code/work.py\t3"];
  const server = new Server();
  server.answer = () => stacks({ 5: `${run}\n${inc}\n${inc}` });
  const known = new Stacks(/** @type {any} */ (server));
  await known.want([5]);
  const { root } = makeTree(new Map([[5, 4]]), known);
  const found = usages(root).map(({ of, own, total }) => [of.name, own, total]);
  assert.deepEqual(found.sort(), [
    ["inc", 4, 4],
    ["run", 0, 4],
  ]);
});

test("a function is found again by its name and file, where it has most samples", async () => {
  const [run, stop, inc] = ["run\t/lib/pool.py\t8", "stop\t/lib/pool.py\t9", "inc\t/code/work.py\t3"];
  const server = new Server();
  server.answer = () => stacks({ 5: `${run}\n${inc}\n${inc}`, 6: `${stop}\n${inc}` });
  const known = new Stacks(/** @type {any} */ (server));
  await known.want([5, 6]);
  const { root } = makeTree(
    new Map([
      [5, 4],
      [6, 7],
    ]),
    known,
  );
  const found = largestOf(root, "inc@work.py");
  assert.deepEqual([found?.total, found?.parent?.of?.name], [7, "stop"]);
  assert.equal(found?.of && functionName(found.of), "inc@work.py");
  assert.equal(largestOf(root, "inc@other.py"), null);
});
