// Which tasks were stolen.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { Stolen } from "../../../frontend/timeline/tasks/stolen.js";
import { Timeline } from "../../../frontend/timeline/timeline.js";
import { FIRST, INFO } from "../make.js";

/** @typedef {import("../../../frontend/timeline/tasks/stolen.js").Steal} Steal */

/** @param {Partial<Steal>} changes @returns {Steal} */
const stealOf = (changes) => ({ key: "a", prefix: 1, time: FIRST + 5, victim: 1, thief: 2, ...changes });

/**
 * The steals of an ended cluster of 1000 s whose source answers what it is told.
 * @param {Steal[]} tasks
 * @param {{total?: number, hasAgent?: boolean, status?: number}} options
 */
function make(tasks, { total = tasks.length, hasAgent = true, status = 200 } = {}) {
  const timeline = new Timeline(/** @type {any} */ ({ ...INFO, ended: INFO.last }));
  /** @type {number[][]} */
  const asked = [];
  const fetch = async (/** @type {string} */ url) => {
    const query = new URLSearchParams(url.split("?")[1]);
    asked.push(["after", "before"].map((name) => Number(query.get(name)) - FIRST));
    return status === 200 ? Response.json({ total, tasks }) : new Response(null, { status });
  };
  const stolen = new Stolen(/** @type {any} */ ({ url: "", fetch }), timeline, hasAgent);
  return { stolen, timeline, asked };
}

/** @param {Stolen} stolen @param {import("node:test").TestContext} t */
async function settle(stolen, t) {
  stolen.update();
  t.mock.timers.tick(600);
  for (let step = 0; step < 10; step++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}

test("a span is stolen if its worker is the thief, and the steal was before", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { stolen } = make([stealOf({}), stealOf({ time: FIRST + 50, victim: 2, thief: 3 })]);
  await settle(stolen, t);
  assert.equal(stolen.of("a", 2, FIRST + 6)?.victim, 1);
  assert.equal(stolen.of("a", 2, FIRST + 4.5)?.victim, 1, "the report of a steal can be late");
  assert.equal(stolen.of("a", 3, FIRST + 60)?.victim, 2);
  for (const [key, worker, start] of /** @type {[string, number|undefined, number][]} */ ([
    ["a", 1, 6],
    ["a", 2, 2],
    ["a", undefined, 6],
    ["b", 2, 6],
  ])) {
    assert.equal(stolen.of(key, worker, FIRST + start), null);
  }
  assert.deepEqual(
    stolen.between(FIRST + 40, FIRST + 60).map(({ thief }) => thief),
    [3],
  );
});

test("the window and as much beside it is asked for once, and again where the window leaves that", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { stolen, timeline, asked } = make([stealOf({})]);
  timeline.setWindow(FIRST + 400, FIRST + 500);
  await settle(stolen, t);
  timeline.setWindow(FIRST + 450, FIRST + 550);
  await settle(stolen, t);
  assert.deepEqual(asked, [[300, 600]]);
  timeline.setWindow(FIRST + 550, FIRST + 650);
  await settle(stolen, t);
  assert.deepEqual(asked[1], [450, 750]);
});

test("of too many steals those of the window are asked for, and of a narrower window all are known", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { stolen, timeline, asked } = make([stealOf({})], { total: 5000 });
  timeline.setWindow(FIRST + 400, FIRST + 500);
  await settle(stolen, t);
  await settle(stolen, t);
  assert.ok(stolen.isCut);
  assert.deepEqual(asked.at(-1), [400, 500]);
  const before = asked.length;
  await settle(stolen, t);
  assert.equal(asked.length, before);
});

test("without an agent nothing is asked for, and a file without steals is asked once", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const without = make([], { hasAgent: false });
  await settle(without.stolen, t);
  assert.equal(without.asked.length, 0);
  const file = make([], { status: 404 });
  await settle(file.stolen, t);
  await settle(file.stolen, t);
  assert.equal(file.asked.length, 1);
});
