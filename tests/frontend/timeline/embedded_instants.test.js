import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresAt, findResults, placeAt } from "../../../frontend/timeline/sources/embedded_instants.js";

const result = (/** @type {string} */ key, /** @type {number|null} */ nbytes, worker = 1) => ({
  key,
  prefix: 1,
  worker,
  nbytes,
  since: 5,
  spilled: [],
});

test("the last instant until then counts, and before the first one that", () => {
  assert.deepEqual(
    [0, 10, 14, 20, 99].map((at) => placeAt([10, 15, 20], at)),
    [0, 0, 0, 2, 2],
  );
});

test("workers that had reported nothing are left out", () => {
  /** @type {import("../../../frontend/timeline/sources/embedded_instants.js").WorkerColumns[]} */
  const workers = [
    { id: 1, figures: { occupancy: [1, 2], gpu_memory: [null, 3] } },
    { id: 2, figures: { occupancy: [null, 4] } },
  ];
  assert.deepEqual(figuresAt(workers, 0), [{ id: 1, occupancy: 1, gpu_memory: null }]);
  assert.deepEqual(
    figuresAt(workers, 1).map(({ id }) => id),
    [1, 2],
  );
});

test("results are found by a part of their key and by worker among those that are listed", () => {
  const total = { count: 900, nbytes: 9000, unsized: 0 };
  const answer = {
    at: 10,
    total,
    unnamed: 0,
    found: total,
    spilling_unknown: [],
    results: [result("Load-1", 40), result("load-2", null), result("sum", 5, 2)],
  };
  assert.equal(findResults(answer, new URLSearchParams("at=10")), answer);
  const found = findResults(answer, new URLSearchParams("at=10&text=LOAD&worker=1"));
  assert.deepEqual(found.found, { count: 2, nbytes: 40, unsized: 1 });
  assert.deepEqual(found.total, total);
  assert.deepEqual(
    findResults(answer, new URLSearchParams("worker=2")).results.map(({ key }) => key),
    ["sum"],
  );
});
