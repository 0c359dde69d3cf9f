// The order of names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sortedByName } from "../../frontend/name_order.js";

const ordered = (/** @type {string[]} */ ...names) => sortedByName(names, (name) => name);

test("numbers in names count as numbers, and capitals sort beside small letters", () => {
  assert.deepEqual(ordered("w10", "W2", "w1", "a"), ["a", "w1", "W2", "w10"]);
  assert.deepEqual(ordered("10.0.0.10:1", "10.0.0.9:1", "9.0.0.1:1"), [
    "9.0.0.1:1",
    "10.0.0.9:1",
    "10.0.0.10:1",
  ]);
});

test("items of the same name keep their order", () => {
  const items = [
    { name: "b", at: 1 },
    { name: "a", at: 2 },
    { name: "B", at: 3 },
  ];
  assert.deepEqual(
    sortedByName(items, ({ name }) => name).map(({ at }) => at),
    [2, 1, 3],
  );
});
