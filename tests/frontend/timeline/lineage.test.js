// The lineage of the selected task.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { rowsOf } from "../../../frontend/charts/selected_task/selected_task.js";
import { describeSteal, describeTransfer } from "../../../frontend/charts/selected_task/moves.js";
import { Lineage, linesOf, transferLinesOf } from "../../../frontend/timeline/tasks/lineage.js";
import { Selection } from "../../../frontend/timeline/selection.js";

const HOSTILE = "('<img src=x onerror=alert(1)>', 0)";

const MODEL = /** @type {any} */ ({
  lanesOf: (/** @type {number} */ worker) =>
    worker < 5 ? [{ id: 10 * worker }, { id: 10 * worker + 1 }] : [],
});

/** @typedef {[lane: number, start: number, stop: number]} Row */

/** @param {Row[]} rows */
const spansOf = (rows) => rows.map(([lane, start, stop]) => ({ lane, start, stop }));
/** @param {[key: string, ...rows: Row[]][]} tasks @param {number} [total] */
const tasksOf = (tasks, total = tasks.length) => ({
  total,
  tasks: tasks.map(([key, ...rows]) => ({ key, prefix: 1, spans: spansOf(rows) })),
});

/**
 * @param {Row[]} own
 * @param {Parameters<typeof tasksOf>[0]} dependencies
 * @param {Parameters<typeof tasksOf>[0]} [dependents]
 */
const answerOf = (own, dependencies, dependents = []) => ({
  key: HOSTILE,
  prefix: 1,
  spans: spansOf(own),
  dependencies: tasksOf(dependencies),
  dependents: tasksOf(dependents),
  transfers: [],
  steals: [],
});

/** @param {ReturnType<typeof linesOf>} lines */
const ends = (lines) =>
  lines.map(({ relation, from, to }) => [relation, from.lane, from.time, to.lane, to.time]);

/**
 * A lineage whose source answers what it is told, and the selection that it follows.
 * @param {() => Promise<Response>|Response} answer
 */
function follow(answer) {
  const selection = new Selection();
  /** @type {string[]} */
  const asked = [];
  const fetch = async (/** @type {string} */ url) => (asked.push(url), answer());
  const lineage = new Lineage(/** @type {any} */ ({ url: "/api", fetch }), selection, MODEL);
  return { lineage, selection, asked };
}

/** @param {Lineage} lineage */
const changed = (lineage) =>
  new Promise((resolve) => lineage.addEventListener("change", resolve, { once: true }));

test("lines lead from the end of a dependency to the start of the task, and on to its dependents", () => {
  const answer = answerOf(
    [[1, 10, 11]],
    [
      ["a", [2, 5, 8]],
      ["b", [3, 5, 9]],
    ],
    [["c", [4, 12, 13]]],
  );
  assert.deepEqual(ends(linesOf(answer)), [
    ["dependency", 3, 9, 1, 10],
    ["dependency", 2, 8, 1, 10],
    ["dependent", 1, 11, 4, 12],
  ]);
});

test("each attempt has a line from the last attempt of a dependency that had ended", () => {
  const answer = answerOf(
    [
      [1, 10, 11],
      [2, 20, 21],
    ],
    [["a", [3, 15, 16], [3, 5, 6], [3, 30, 31]]],
    [["c", [4, 12, 13], [4, 40, 41]]],
  );
  assert.deepEqual(ends(linesOf(answer)).sort(), [
    ["dependency", 3, 16, 2, 20],
    ["dependency", 3, 6, 1, 10],
    ["dependent", 1, 11, 4, 12],
    ["dependent", 2, 21, 4, 40],
  ]);
});

test("a task without a span, or that ended too late, has no line", () => {
  assert.deepEqual(linesOf(answerOf([[1, 10, 11]], [["a"], ["b", [2, 10.5, 12]]])), []);
  assert.equal(
    linesOf(answerOf([[1, 10, 11]], [["b", [2, 9, 10.002]]])).length,
    1,
    "clocks differ by milliseconds",
  );
});

test("of many lines the nearest are drawn, and each direction has its share", () => {
  /** @type {[string, Row][]} */
  const many = [...Array(200).keys()].map((number) => [`c-${number}`, [2, 11 + number, 12 + number]]);
  const lines = linesOf(answerOf([[1, 10, 11]], [["a", [3, 1, 2]]], many), 50);
  assert.equal(lines.length, 50);
  assert.deepEqual(ends(lines)[0], ["dependency", 3, 2, 1, 10]);
  assert.equal(Math.max(...lines.map(({ to }) => to.time)), 11 + 48);
});

test("a selected task is asked for by its exact key, and clearing the selection forgets it", async () => {
  const { lineage, selection, asked } = follow(() =>
    Response.json(answerOf([[1, 10, 11]], [["a", [2, 5, 8]]])),
  );
  selection.set({ key: HOSTILE });
  assert.equal(lineage.status, "loading");
  await changed(lineage);
  assert.equal(new URLSearchParams(asked[0].split("?")[1]).get("key"), HOSTILE);
  assert.deepEqual(
    [lineage.status, [...lineage.relations], lineage.lines.length],
    ["loaded", [["a", "dependency"]], 1],
  );
  selection.clear();
  assert.deepEqual(
    [lineage.status, lineage.current, lineage.relations.size, lineage.lines],
    ["none", null, 0, []],
  );
});

test("the answer for a task that is no longer selected is ignored", async () => {
  /** @type {((response: Response) => void)[]} */
  const answer = [];
  const { lineage, selection } = follow(() => new Promise((resolve) => answer.push(resolve)));
  selection.set({ key: "a" });
  selection.set({ key: "b" });
  const isChanged = changed(lineage);
  answer[1](Response.json({ ...answerOf([], []), key: "b" }));
  await isChanged;
  answer[0](Response.json({ ...answerOf([], []), key: "a" }));
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(lineage.current?.key, "b");
});

test("a source without lineages and one that fails are told apart", async () => {
  for (const [code, status] of /** @type {[number, string][]} */ ([
    [404, "absent"],
    [503, "failed"],
  ])) {
    const { lineage, selection } = follow(() => new Response(null, { status: code }));
    selection.set({ key: "a" });
    await changed(lineage);
    assert.deepEqual([lineage.status, lineage.current], [status, null]);
  }
});

test("the table has a row for each span, and one for a task without", () => {
  const rows = rowsOf(
    answerOf([[1, 10, 11]], [["a", [2, 5, 8], [2, 6, 6.5]]], [["c"]]),
    (lane) => `w${lane}`,
  );
  assert.deepEqual(
    rows.map(([relation, key, , worker, seconds]) => [relation, key, worker, seconds]),
    [
      ["itself", HOSTILE, "w1", 1],
      ["dependency", "a", "w2", 3],
      ["dependency", "a", "w2", 0.5],
      ["dependent", "c", null, null],
    ],
  );
});

/** @param {object} changes */
const transferOf = (changes) => ({
  lane: 30,
  start: 9,
  stop: 9.5,
  peer: 1,
  nbytes: 2 ** 20,
  count: 1,
  keys: [{ key: "a", nbytes: 9 }],
  ...changes,
});

test("the line of a transfer begins on the worker that sent the data, where that was made if it is known", () => {
  const answer = {
    ...answerOf([[30, 10, 11]], [["a", [20, 1, 2], [11, 5, 8]]]),
    transfers: [transferOf({}), transferOf({ peer: 2, keys: [] })],
  };
  assert.deepEqual(ends(transferLinesOf(answer, MODEL)), [
    ["transfer", 11, 9, 30, 9.5],
    ["transfer", 20, 9, 30, 9.5],
  ]);
  const unknown = { ...answer, transfers: [transferOf({ peer: null }), transferOf({ peer: 7 })] };
  assert.deepEqual(transferLinesOf(unknown, MODEL), []);
});

test("a transfer is described by its size, duration, bandwidth and keys", () => {
  const keys = [HOSTILE, "b", "c", "d"].map((key) => ({ key, nbytes: 1 }));
  assert.equal(
    describeTransfer(transferOf({ keys, count: 1200 })),
    `1.00 MiB · 500 ms · 2.00 MiB/s · ${HOSTILE}, b, c and 1,197 more`,
  );
  assert.equal(
    describeTransfer(transferOf({ stop: 9 })),
    "1.00 MiB · 0 s · a",
    "no bandwidth without a duration",
  );
});

test("a steal is described by its cost and by the work that waited on both workers", () => {
  const name = (/** @type {number|null} */ worker) => `w${worker}`;
  const steal = { time: 9, victim: 1, thief: 2, cost: 0.1, victim_occupancy: 5, thief_occupancy: 0.5 };
  assert.equal(
    describeSteal(steal, name),
    "5.00 s of work waited on w1, 500 ms on w2; the move was expected to take 100 ms",
  );
  assert.equal(describeSteal({ ...steal, cost: null }, name), "its cost is unknown");
});
