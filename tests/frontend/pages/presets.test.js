// The ready-made selections of charts.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { PRESETS } from "../../../frontend/pages/cluster/presets.js";
import { charts } from "../../../frontend/tabs.js";

test("each chart of a ready-made selection is a chart of some tab", () => {
  const known = Object.values(charts)
    .flat()
    .map(({ name }) => name);
  for (const [title, names] of Object.entries(PRESETS))
    assert.deepEqual(
      names.filter((name) => !known.includes(name)),
      [],
      title,
    );
});
