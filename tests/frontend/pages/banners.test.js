// What a page says where nothing was recorded.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { endText, noTasks } from "../../../frontend/pages/cluster/banners.js";

test("a cluster whose target was paused has not ended, as far as is known", () => {
  assert.equal(
    endText({ end_reason: "the scheduler closed" }, "12:00"),
    "This cluster ended at 12:00. Everything that was recorded can be replayed.",
  );
  assert.equal(
    endText({ end_reason: "no longer observed: its target was paused" }, "12:00"),
    "Recorded until 12:00, and no longer observed: its target was paused. The cluster may have gone on. Everything that was recorded can be replayed.",
  );
});

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
