// The spans of a file: unpacked exactly, and selected for the tiles of any level.

import assert from "node:assert/strict";
import { test } from "node:test";
import { spansWithin, unpackSpans } from "../../../frontend/timeline/sources/packed_spans.js";
import { FIRST, block, decoded } from "../make.js";

/** Rows: lane, µs from the end of the row before, µs of the duration. @param {[number, number, number][]} rows */
function packed(rows) {
  const named = rows.map(([lane, gap, duration], number) => {
    return {
      lane,
      prefix: 1,
      action: 0,
      status: 0,
      gap,
      duration,
      nbytes: 28,
      key: `inc-${number}`,
      typename: "int",
    };
  });
  return decoded(block("packed-span", named, { layer: "spans.1" }))[0];
}

const ROWS = /** @type {[number, number, number][]} */ ([
  [1, FIRST * 1e6, 1_500_001],
  [1, 3, 250_000],
  [2, -1_750_004, 100],
]);

test("times are the sums of the differences, to the microsecond", () => {
  const found = unpackSpans(packed(ROWS));
  assert.deepEqual(found.kind, "span");
  assert.deepEqual([...found.numbers("start")], [FIRST, FIRST + 1.500004, FIRST]);
  assert.deepEqual([...found.numbers("stop")], [FIRST + 1.500001, FIRST + 1.750004, FIRST + 0.0001]);
  assert.equal(found.meta.layer, "spans.1");
});

test("a tile has the spans that overlap it, with their keys", () => {
  const all = unpackSpans(packed(ROWS));
  const found = spansWithin(all, FIRST + 0.0001, FIRST + 1.500004);
  assert.equal(found.rows, 1);
  assert.equal(found.texts("key").at(0), "inc-0");
  assert.deepEqual([...found.numbers("lane")], [1]);
  const later = spansWithin(all, FIRST + 1.5, FIRST + 1.6);
  assert.deepEqual(
    [0, 1].map((row) => later.texts("key").at(row)),
    ["inc-0", "inc-1"],
  );
  assert.deepEqual([...later.numbers("stop")], [FIRST + 1.500001, FIRST + 1.750004]);
});

test("a tile in which all spans lie is their block itself", () => {
  const all = unpackSpans(packed(ROWS));
  assert.equal(spansWithin(all, FIRST - 1, FIRST + 5), all);
});
