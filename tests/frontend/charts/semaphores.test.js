// What is known of semaphores and locks, from their series.

import assert from "node:assert/strict";
import { test } from "node:test";
import { semaphoresOf } from "../../../frontend/charts/semaphores/leases.js";

test("the series of a semaphore are found by its name, however many of them there are", () => {
  const one = (/** @type {string} */ metric, /** @type {string} */ name) =>
    /** @type {any} */ ({ metric: `dask_semaphore_${metric}`, labels: { name } });
  const series = [
    one("active_leases", "database"),
    one("active_leases", "file"),
    one("max_leases", "database"),
    one("release_total", "database"),
  ];
  const found = semaphoresOf({ seriesOf: () => series });
  assert.deepEqual(found, [
    { name: "database", active: series[0], most: series[2] },
    { name: "file", active: series[1] },
  ]);
});
