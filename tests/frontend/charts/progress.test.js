// Progress of many prefixes: those with most tasks, the others as one, and a search.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { barsOf } from "../../../frontend/charts/playhead/progress.js";
import { PrefixColors } from "../../../frontend/timeline/colors/prefix_colors.js";

/** @param {number} count @param {object} [changes] @returns {any} */
function stateOf(count, changes = {}) {
  const progress = Array.from({ length: count }, (_, id) => {
    return {
      prefix: id,
      name: `P-${id}`,
      color: "#112233",
      done: 1,
      erred: 0,
      total: count - id + 1,
      seconds: 1,
      ...changes,
    };
  });
  return { progress };
}

/** @type {any} */
const model = { colors: new PrefixColors(), prefixes: new Map() };

test("of 3,000 prefixes the others are one row with their sums", () => {
  const { rows, isCut } = barsOf(stateOf(3000), "", model);
  assert.equal(rows.length, 14);
  assert.equal(isCut, true);
  assert.equal(rows[0].name, "P-0");
  assert.equal(rows[13].name, "others (2,987)");
  assert.match(rows[13].value, /^2,987 \/ 4,465,565$/);
});

test("where some total is unknown, that of the others is", () => {
  const { rows, note } = barsOf(stateOf(20, { total: null }), "", model);
  assert.equal(rows[13].value, "7 / ?");
  assert.match(note ?? "", /unknown/);
  assert.equal(barsOf(stateOf(14), "", model).note, "");
});

test("a few prefixes need no search, and each has its row", () => {
  const { rows, isCut } = barsOf(stateOf(14), "", model);
  assert.deepEqual([rows.length, isCut], [14, false]);
});

test("a search finds prefixes that have no row, and says how many more there are", () => {
  assert.deepEqual(
    barsOf(stateOf(3000), "p-2999", model).rows.map(({ name }) => name),
    ["P-2999"],
  );
  const { rows, note } = barsOf(stateOf(3000), "p-1", model);
  assert.deepEqual([rows.length, note], [50, "and 1,061 more"]);
});

test("what is to do is told by state, and when totals were sampled before the playhead", () => {
  const state = {
    ...stateOf(1, { total: 9, states: { waiting: 0, queued: 5, processing: 3 } }),
    at: 100,
    progress_at: 97,
  };
  const { rows, note } = barsOf(state, "", model);
  assert.equal(rows[0].parts[2].title, "P-0: 8 to do: 5 queued, 3 processing");
  assert.match(note ?? "", /^Erred tasks and totals are of .*, 3.00 s earlier$/);
  assert.equal(barsOf({ ...state, progress_at: null }, "", model).note, "");
});

test("prefixes that the state does not list are among the others, and a search says so", () => {
  const unlisted = { prefixes: 99_000, done: 5, erred: null, total: null, seconds: 1 };
  const { rows, isCut } = barsOf({ ...stateOf(2), other_progress: unlisted }, "", model);
  assert.equal(isCut, true);
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["P-0", "P-1", "others (99,000)"],
  );
  assert.equal(rows[2].value, "5 / ?");
  const known = { ...unlisted, total: 7, erred: 1 };
  assert.equal(barsOf({ ...stateOf(20), other_progress: known }, "", model).rows[13].name, "others (99,007)");
  assert.match(
    barsOf({ ...stateOf(2), other_progress: known }, "p-1", model).note ?? "",
    /99,000 prefixes .* are not searched/,
  );
});

test("what other runs did on the cluster is one row, the last, and a search finds each of its prefixes", () => {
  const others = [0, 2].map((id) => [id, { is_other: true }]);
  const ofRun = { ...model, prefixes: new Map([.../** @type {any} */ (others), [1, { is_other: false }]]) };
  const { rows, isCut } = barsOf(stateOf(3), "", ofRun);
  assert.deepEqual(
    rows.map(({ name, value }) => [name, value]),
    [
      ["P-1", "1 / 3"],
      ["tasks of other runs (2)", "2 / 6"],
    ],
  );
  assert.equal(isCut, true);
  assert.deepEqual(
    barsOf(stateOf(3), "p-2", ofRun).rows.map(({ name }) => name),
    ["P-2"],
  );
});
