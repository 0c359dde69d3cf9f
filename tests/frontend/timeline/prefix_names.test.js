// Prefixes beyond those that /lanes lists: their names are asked for where they are drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { MAXIMUM_NAMES } from "../../../frontend/contract.js";
import { leftOut } from "../../../frontend/pages/cluster/banners.js";
import { Model } from "../../../frontend/timeline/model.js";
import { PrefixNames } from "../../../frontend/timeline/prefix_names.js";

const NONE = { workers: 0, lanes: 0, prefixes: 0, series: 0 };

/** @param {number} prefixes that are left out @param {(ids: number[]) => Response} answer @returns {any} */
function modelOf(prefixes, answer) {
  /** @type {number[][]} */
  const requests = [];
  const fetch = async (/** @type {string} */ url) => {
    const ids = (/ids=(.*)$/.exec(url)?.[1] ?? "").split(",").map(Number);
    requests.push(ids);
    return answer(ids);
  };
  const model = new Model();
  const names = new PrefixNames(/** @type {any} */ ({ url: "/api/v1/clusters/1", fetch }), model);
  model.askName = (id) => names.ask(id);
  const listed = { id: 1, name: "inc", color: "#112233", seconds: 1, is_other: false };
  model.load({ workers: [], lanes: [], prefixes: [listed], series: {}, left_out: { ...NONE, prefixes } });
  return { model, requests };
}

/** @param {() => boolean} holds */
async function eventually(holds) {
  for (let attempt = 0; attempt < 2000 && !holds(); attempt++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(holds());
}

const named = (/** @type {number[]} */ ids) =>
  Response.json(ids.map((id) => ({ id, name: `name ${id}`, color: "#445566" })));

test("names that are not listed are asked for once, together, and the page is drawn again", async () => {
  const { model, requests } = modelOf(99_998, named);
  let changes = 0;
  model.addEventListener("change", () => changes++);
  assert.deepEqual(
    [2, 3, 2, 1].map((id) => model.prefixName(id)),
    ["prefix 2", "prefix 3", "prefix 2", "inc"],
  );
  assert.equal(model.color(2), "#888888");
  await eventually(() => changes > 0);
  assert.deepEqual(
    [2, 3, 1].map((id) => model.prefixName(id)),
    ["name 2", "name 3", "inc"],
  );
  assert.equal(model.color(2), "#445566");
  assert.deepEqual(requests, [[2, 3]]);
  assert.equal(model.leftOut.prefixes, 99_998);
});

test("many names are asked for in several requests", async () => {
  const { model, requests } = modelOf(99_998, named);
  for (let id = 2; id < 2 * MAXIMUM_NAMES + 5; id++) model.prefixName(id);
  await eventually(() => model.prefixName(2 * MAXIMUM_NAMES + 4).startsWith("name"));
  assert.deepEqual(
    requests.map((/** @type {number[]} */ ids) => ids.length),
    [MAXIMUM_NAMES, MAXIMUM_NAMES, 3],
  );
});

test("a file or server without an answer leaves numbers and is not asked again", async () => {
  const { model, requests } = modelOf(0, () => new Response(null, { status: 404 }));
  model.prefixName(7);
  await eventually(() => requests.length > 0);
  assert.equal(model.prefixName(7), "prefix 7");
  model.prefixName(0);
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(requests.length, 1);
});

test("a page says what it does not list", () => {
  assert.deepEqual(leftOut(NONE), []);
  const [prefixes, others] = leftOut({ workers: 95_000, lanes: 190_000, prefixes: 98_000, series: 0 });
  assert.match(prefixes, /^98,000 prefixes/);
  assert.match(others, /95,000 workers, 190,000 lanes are left out/);
});
