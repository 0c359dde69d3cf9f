// Which runs can be laid over each other, which are shown at first, and the colours that they keep.

import assert from "node:assert/strict";
import { test } from "node:test";
import { colorPlaces, firstRuns, loadRunLists } from "../../../frontend/charts/run_memory/run_lists.js";

const run = (/** @type {number} */ id, start = 100 * id) => ({
  id,
  name: "etl",
  cluster: 7,
  cluster_name: "c",
  start,
  stop: start + 10,
});

/** @param {Record<string, any>} answers by the beginning of their path */
function asking(answers) {
  const asked = /** @type {string[]} */ ([]);
  const ask = async (/** @type {string} */ path) => {
    asked.push(path);
    return answers[path.split("?")[0] + (path.includes("like=") ? "?like" : "")] ?? null;
  };
  return { asked, ask };
}

test("a cluster's page offers its newest runs", async () => {
  const { asked, ask } = asking({ "/runs": { items: [run(9), run(8)] } });
  const lists = await loadRunLists(ask, 7, undefined);
  assert.deepEqual(
    lists.map(({ title, runs }) => [title, runs.map(({ id }) => id)]),
    [["Runs of this cluster", [9, 8]]],
  );
  assert.deepEqual(asked, ["/runs?cluster=7&page_size=50"]);
});

test("a run's page offers it and earlier ones of its name first, and each run once", async () => {
  const { asked, ask } = asking({
    "/runs/5": run(5),
    "/runs": { items: [run(9), run(5), run(4)] },
    "/runs?like": { items: [run(5), run(4), run(2)] },
  });
  const lists = await loadRunLists(ask, 7, 5);
  assert.deepEqual(
    lists.map(({ runs }) => runs.map(({ id }) => id)),
    [[5, 4, 2], [9]],
  );
  assert.ok(asked.includes("/runs?like=5&until=500&page_size=20"));
});

test("a run that is deleted meanwhile leaves the cluster's runs", async () => {
  const { ask } = asking({ "/runs": { items: [run(9)] } });
  assert.deepEqual(
    (await loadRunLists(ask, 7, 5)).map(({ runs }) => runs.length),
    [1],
  );
});

test("at first the run with the last ones before it is shown, and where there are fewer the cluster's newest", () => {
  assert.deepEqual(
    firstRuns([
      { title: "", runs: [run(5), run(4), run(2), run(1)] },
      { title: "", runs: [run(9)] },
    ]),
    [5, 4, 2],
  );
  assert.deepEqual(
    firstRuns([
      { title: "", runs: [run(5)] },
      { title: "", runs: [run(9), run(8), run(7)] },
    ]),
    [5, 9, 8],
  );
  assert.deepEqual(firstRuns([]), []);
});

test("a run keeps its colour while others come and go", () => {
  const first = colorPlaces(new Map(), [5, 4, 2]);
  assert.deepEqual(
    [...first],
    [
      [5, 0],
      [4, 1],
      [2, 2],
    ],
  );
  const fewer = colorPlaces(first, [5, 2]);
  assert.deepEqual(
    [...fewer],
    [
      [5, 0],
      [2, 2],
    ],
  );
  assert.deepEqual(
    [...colorPlaces(fewer, [5, 2, 9])],
    [
      [5, 0],
      [2, 2],
      [9, 1],
    ],
  );
});
