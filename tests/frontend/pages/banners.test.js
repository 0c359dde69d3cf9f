// What a page says where nothing was recorded.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { noTasks } from "../../../frontend/pages/cluster/banners.js";

test("a run whose tasks were all cancelled, or did not end, does not say that there were none", () => {
  const text = noTasks({ is_whole: false, has_agent: true, error_count: 0 });
  assert.match(text, /^No task finished in this run\. .* cancelled or did not end: Why\? tells/);
});

test("a run whose tasks all failed says how many attempts did", () => {
  const text = noTasks({ is_whole: false, has_agent: true, error_count: 1 });
  assert.equal(text, "No task finished in this run: 1 attempt failed.");
});

test("without an agent it isn't known whether any were submitted", () => {
  assert.equal(
    noTasks({ is_whole: true, has_agent: false, error_count: null }),
    "No tasks were recorded in this cluster.",
  );
  assert.equal(
    noTasks({ is_whole: false, has_agent: false, error_count: null }),
    "No tasks were recorded in this run.",
  );
});
