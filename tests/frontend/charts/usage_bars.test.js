// The bars of usage: measures, days and stacks.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { daysOf, measuresOf, stacksOf } from "../../../frontend/charts/usage/usage_bars.js";

const NOTHING = {
  cluster_seconds: 0,
  worker_seconds: 0,
  thread_seconds: 0,
  busy_seconds: 0,
  idle_seconds: 0,
  memory_seconds: 0,
  tasks: 0,
  errors: 0,
  jobs: 0,
  wait_seconds: 0,
  asked_core_seconds: 0,
  used_core_seconds: 0,
  asked_memory_seconds: 0,
  used_memory_seconds: 0,
  costs: /** @type {{amount: number, currency: string}[]} */ ([]),
};

/** @param {string} key @param {"value"|"others"|"outside"} kind */
const group = (key, kind = "value") => ({ ...NOTHING, key, kind, name: key || kind });

/** @returns {import("../../../frontend/charts/usage/usage_bars.js").Usage} */
function usage() {
  const costs = [
    { amount: 3, currency: "EUR" },
    { amount: 1, currency: "$" },
  ];
  return {
    since: "2026-02-27",
    until: "2026-03-02",
    by: "person",
    counted: null,
    groups: [group("ada"), group(""), group("", "outside")],
    days: [
      { ...group("ada"), day: "2026-02-28", busy_seconds: 7200, costs: [{ amount: 3, currency: "EUR" }] },
      { ...group(""), day: "2026-02-28", busy_seconds: 3600 },
      {
        ...group("", "outside"),
        day: "2026-03-02",
        busy_seconds: 1800,
        costs: [{ amount: 1, currency: "$" }],
      },
    ],
    total: { ...NOTHING, costs },
  };
}

test("days without usage are bars of nothing, over the end of a month", () => {
  assert.deepEqual(daysOf(usage()), ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]);
});

test("each currency is a measure, before the others", () => {
  assert.deepEqual(
    measuresOf(usage())
      .slice(0, 3)
      .map(({ name }) => name),
    ["Cost (EUR)", "Cost ($)", "Compute"],
  );
  const without = { ...usage(), total: NOTHING };
  assert.equal(measuresOf(without)[0].name, "Compute");
});

test("a stack has a value for each day, and groups of other kinds are not mixed up", () => {
  const [euros, , compute] = measuresOf(usage());
  assert.deepEqual(
    stacksOf(usage(), compute).map(({ name, values }) => [name, values]),
    [
      ["ada", [0, 2, 0, 0]],
      ["value", [0, 1, 0, 0]],
      ["outside", [0, 0, 0, 0.5]],
    ],
  );
  assert.deepEqual(stacksOf(usage(), compute)[0].texts[1], "2 h");
  assert.deepEqual(stacksOf(usage(), euros)[0].texts[1], "3.00 EUR");
});
