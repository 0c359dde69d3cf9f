// Tasks by state at the playhead: what is unknown is said to be, and why tasks can't run.

import assert from "node:assert/strict";
import test from "node:test";

import { barsOf } from "../../../frontend/charts/playhead/tasks_now.js";

const shown = (/** @type {any} */ tasks, unrunnable = {}) =>
  barsOf(/** @type {any} */ ({ tasks, unrunnable }));

test("without queued tasks among the counts their number is unknown, not 0", () => {
  const rows = shown({ waiting: 4, processing: 2 }).rows.map(({ name, value }) => [name, value]);
  assert.deepEqual(
    rows.find(([name]) => name === "queued"),
    ["queued", "unknown"],
  );
  assert.ok(!shown({ queued: 0, waiting: 4 }).rows.some(({ value }) => value === "unknown"));
  assert.deepEqual(shown({}).rows, []);
});

test("tasks that can't run are told with the reason", () => {
  const told = shown(
    { "no-worker": 4, queued: 0 },
    { "no worker has the resource GPU": 3, "there is no worker": 1 },
  ).note;
  assert.equal(
    told,
    "4 tasks can't run: no worker has the resource GPU (3 tasks), there is no worker (1 task).",
  );
  assert.match(
    shown({ "no-worker": 1, queued: 0 }).note ?? "",
    /^1 task can't run: .* known with the agent only\.$/,
  );
  assert.equal(shown({ "no-worker": 0, queued: 0 }, {}).note, "");
});
