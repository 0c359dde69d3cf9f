// How many threads computed at an instant.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { COMPUTE, ERROR, FIRST_PREFIX_SLOT, slotOf } from "../../../frontend/charts/task_stream/actions.js";
import { busyAt, colorOfSlot, prefixOfSlot } from "../../../frontend/charts/task_stream/busy_at.js";
import { Model } from "../../../frontend/timeline/model.js";
import { tileIndex } from "../../../frontend/timeline/tiles/levels.js";
import { makeTile } from "../../../frontend/timeline/tiles/tile_store.js";
import { FIRST, decoded, spans } from "../make.js";
import { near } from "../near.js";

const LEVEL = 31;

function model() {
  const made = new Model();
  const prefixes = [
    { id: 1, name: "inc", color: "#0000ff", seconds: 0, is_other: false },
    { id: 2, name: "sum", color: "#00ff00", seconds: 0, is_other: false },
  ];
  made.load({ workers: [], lanes: [], series: {}, prefixes });
  return made;
}

/** @param {number} at seconds after FIRST @param {number} pixel seconds */
function busy(at, pixel) {
  const data = spans([
    [1, 1, 0, 0, FIRST, FIRST + 10],
    [2, 1, 0, 0, FIRST, FIRST + 4],
    [2, 2, 0, 0, FIRST + 4, FIRST + 8],
    [3, 2, 1, 0, FIRST, FIRST + 10],
  ]);
  const tile = makeTile("spans", LEVEL, tileIndex(FIRST, LEVEL), true, decoded(data));
  return busyAt([1, 2, 3], [tile], model(), FIRST + at, pixel);
}

test("threads that compute are counted by prefix, and those that transfer are not", () => {
  const found = busy(5, 0.1);
  assert.equal(found.threads, 3);
  near(found.computing, 2);
  assert.deepEqual(
    found.prefixes.map(([slot]) => prefixOfSlot(slot, model())),
    [1, 2],
  );
  near(busy(9, 0.1).computing, 1);
});

test("where a pixel is long, the numbers are its mean", () => {
  const found = busy(4, 2);
  near(
    found.prefixes.map(([, threads]) => threads),
    [1.5, 0.5],
  );
});

test("a slot without a known prefix has none", () => {
  assert.equal(prefixOfSlot(FIRST_PREFIX_SLOT + 9, model()), undefined);
});

test("a prefix that is not listed is grey, and only what erred is black", () => {
  const made = model();
  const colorOf = (/** @type {number} */ prefix, /** @type {number} */ status) =>
    colorOfSlot(slotOf(COMPUTE, status, made.prefixIndex(prefix)), made);
  assert.deepEqual(
    [colorOf(1, 0), colorOf(99_999, 0), colorOf(99_999, ERROR)],
    [made.color(1), "#888888", "#000000"],
  );
});
