// What of the task stream is under the mouse.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hitLanes } from "../../../frontend/charts/task_stream/lanes/hit.js";
import { FIRST, spans } from "../make.js";
import { near } from "../near.js";
import { model, tileOf } from "../painted_lane.js";

const ROW = { lanes: [1], threads: 1 };
/** @typedef {import("../painted_lane.js").Rows} Rows */

/** @param {Rows} rows @param {number} at seconds after FIRST @param {number} pixel seconds */
function hit(rows, at, pixel) {
  return /** @type {any} */ (hitLanes([tileOf(spans(rows), 31)], model(), ROW, FIRST + at, pixel));
}

test("the span under the mouse is found with its key", () => {
  const { span } = hit(
    [
      [1, 1, 0, 0, FIRST + 1, FIRST + 2],
      [1, 2, 0, 0, FIRST + 2, FIRST + 3],
    ],
    2.5,
    0.01,
  );
  assert.deepEqual([span.key, span.prefix], ["inc-1", 2]);
});

test("of many tasks at a pixel it is told what took how long", () => {
  const rows = [...Array(20).keys()].map((n) => {
    return [1, 1 + (n % 2), 0, 0, FIRST + n * 0.1, FIRST + n * 0.1 + 0.01 * (1 + (n % 2))];
  });
  const found = hit(/** @type {any} */ (rows), 1, 1);
  assert.equal(found.span, null);
  assert.deepEqual(
    found.shares.map((share) => [share.prefix, share.count]),
    [
      [2, 10],
      [1, 10],
    ],
  );
  near(found.seconds, 0.3);
});

test("beside everything nothing is found", () => {
  assert.equal(hit([[1, 1, 0, 0, FIRST + 1, FIRST + 2]], 5, 0.01), null);
});

test("what two lifetimes of a worker did is in one row, and the span under the mouse is of one of their lanes", () => {
  const data = spans([
    [1, 1, 0, 0, FIRST, FIRST + 10],
    [2, 2, 0, 0, FIRST + 20, FIRST + 30],
  ]);
  const row = { lanes: [1, 2], threads: 1 };
  const found = [5, 25].map((at) => hitLanes([tileOf(data, 31)], model(), row, FIRST + at, 0.1));
  assert.deepEqual(
    found.map((hit) => [hit?.span?.lane, hit?.span?.prefix, hit?.lanes]),
    [
      [1, 1, [1]],
      [2, 2, [2]],
    ],
  );
});
