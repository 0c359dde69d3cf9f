import assert from "node:assert/strict";
import { test } from "node:test";

import { rowsOf } from "../../../frontend/charts/fine_performance/rows.js";

/** @typedef {import("../../../frontend/types.js").Schemas["FinePerformance"]} Found */

/** @type {Found} */
const FOUND = {
  activities: [
    { context: "execute", prefix: 1, name: "sum", activity: "thread-cpu", unit: "seconds", value: 6 },
    { context: "execute", prefix: 2, name: "load", activity: "thread-cpu", unit: "seconds", value: 1 },
    { context: "gather-dep", prefix: null, name: "", activity: "network", unit: "seconds", value: 3 },
    { context: "execute", prefix: 2, name: "load", activity: "disk-read", unit: "bytes", value: 500 },
  ],
  spans: [
    { names: ["nightly", "load"], activity: "thread-cpu", unit: "seconds", value: 2 },
    { names: ["nightly", "load"], activity: "disk-read", unit: "bytes", value: 500 },
  ],
};

test("a row has its share of all that is in the same unit", () => {
  const rows = rowsOf(FOUND, "prefixes", "seconds").map(({ name, prefix, activity, value, share }) => [
    name,
    prefix,
    activity,
    value,
    share,
  ]);
  assert.deepEqual(rows, [["sum", 1, "thread-cpu", 6, 0.6], ["load", 2, "thread-cpu", 1, 0.1], ["(gather-dep)", null, "network", 3, 0.3]]); // prettier-ignore
  assert.deepEqual(rowsOf(FOUND, "prefixes", "bytes").map(({ name, share }) => [name, share]), [["load", 1]]); // prettier-ignore
  assert.deepEqual(rowsOf(FOUND, "prefixes", "count"), []);
});

test("an activity is that of all prefixes together", () => {
  const rows = rowsOf(FOUND, "activities", "seconds").map(({ name, prefix, value }) => [name, prefix, value]);
  assert.deepEqual(rows, [["thread-cpu", null, 7], ["network", null, 3]]); // prettier-ignore
});

test("a Dask span has the names of those around it, and none is shown where they are too many", () => {
  assert.deepEqual(rowsOf(FOUND, "spans", "seconds").map(({ name, value }) => [name, value]), [["nightly / load", 2]]); // prettier-ignore
  assert.deepEqual(rowsOf({ ...FOUND, spans: null }, "spans", "seconds"), []);
});
