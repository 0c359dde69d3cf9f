// The address says what is on the screen; what it can't mean is ignored.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { charts } from "../../../frontend/tabs.js";
import { ProfileOptions } from "../../../frontend/charts/flame_graph/options.js";
import { HeatOptions } from "../../../frontend/charts/heat_map/options.js";
import { LogOptions } from "../../../frontend/charts/logs/options.js";
import { MOST_RUNS, RunOptions } from "../../../frontend/charts/run_memory/options.js";
import { LaneOptions } from "../../../frontend/charts/task_stream/options.js";
import { Address } from "../../../frontend/timeline/address.js";
import { Features } from "../../../frontend/timeline/features.js";
import { Selection } from "../../../frontend/timeline/selection.js";
import { Timeline } from "../../../frontend/timeline/timeline.js";
import { FIRST, INFO } from "../make.js";
import { near } from "../near.js";

const OPTIONS = new Set(
  Object.values(charts)
    .flat()
    .flatMap(({ options }) => options ?? []),
);

Object.assign(globalThis, {
  location: { search: "", pathname: "/" },
  history: { replaceState: () => undefined },
});

/** A page whose address has a query, with the options of all charts. */
function open(query = "") {
  const timeline = new Timeline(/** @type {any} */ (INFO), () => 0);
  const selection = new Selection();
  const features = new Features(/** @type {any} */ ({}));
  const address = new Address(
    { timeline, selection },
    [...OPTIONS].map((type) => features.of(type)),
  );
  address.open(query);
  return {
    address,
    timeline,
    selection,
    laneOptions: features.of(LaneOptions),
    heatOptions: features.of(HeatOptions),
    logOptions: features.of(LogOptions),
    runOptions: features.of(RunOptions),
    profileOptions: features.of(ProfileOptions),
  };
}

/** @param {string} query */
function meansNothing(query) {
  assert.equal(open(query).address.query(), open().address.query());
}

test("an address that was copied shows the same", () => {
  const shown = open();
  const { timeline, selection, laneOptions } = shown;
  shown.heatOptions.set({ quantity: "duration", group: "SLURM_JOB_ID", order: "name" });
  shown.logOptions.set({ level: 30, role: "nanny", logger: "distributed", match: "^a|b &=<", isRegex: true });
  laneOptions.set({
    order: "most memory",
    filter: "lost & <b>",
    onlyPrefix: true,
    label: "a&b",
    value: "<b> 1",
  });
  timeline.setWindow(FIRST + 100.25, FIRST + 160.5);
  timeline.setPlayhead(FIRST + 123.456);
  timeline.setSpeed(4);
  selection.set({ prefix: 7, key: "('x', 1)&at=<b>" });
  selection.hide([3, 9]);
  shown.address.charts = ["task-stream", "memory"];
  const query = shown.address.query();
  const other = open(query);
  assert.equal(other.address.query(), query);
  const { quantity, group, order: rank } = other.heatOptions;
  assert.deepEqual([quantity, group, rank], ["duration", "SLURM_JOB_ID", "name"]);
  assert.deepEqual(other.logOptions.choice, shown.logOptions.choice);
  assert.equal(other.selection.key, "('x', 1)&at=<b>");
  assert.deepEqual([...other.selection.hidden], [3, 9]);
  const { order, filter, onlyPrefix } = other.laneOptions;
  assert.deepEqual([order, filter, onlyPrefix], ["most memory", "lost & <b>", true]);
  assert.deepEqual([other.laneOptions.label, other.laneOptions.value], ["a&b", "<b> 1"]);
  other.laneOptions.set({ label: "zone" });
  assert.equal(other.laneOptions.value, null, "another label has other values");
});

test("the chosen runs are in the address in their order, also where none is chosen", () => {
  const shown = open();
  assert.ok(!shown.address.query().includes("runs="));
  for (const runs of [[31, 7, 30], []]) {
    shown.runOptions.set({ runs, measure: "managed" });
    const other = open(shown.address.query());
    assert.deepEqual([other.runOptions.runs, other.runOptions.measure], [runs, "managed"]);
  }
});

test("what a profile is compared with is in the address, and whether the two are swapped", () => {
  const shown = open();
  shown.profileOptions.set({ isSwapped: true });
  assert.ok(!shown.address.query().includes("swap"));
  shown.profileOptions.set({ against: { kind: "window", start: FIRST, stop: FIRST + 20 } });
  const other = open(shown.address.query());
  assert.deepEqual(
    [other.profileOptions.against, other.profileOptions.isSwapped],
    [{ kind: "window", start: FIRST, stop: FIRST + 20 }, true],
  );
  meansNothing("?against=run-0&swap=2");
});

test("the function that a profile is zoomed into is in the address", () => {
  const shown = open();
  shown.profileOptions.set({ zoomed: "crunch@workload.py" });
  const other = open(shown.address.query());
  assert.equal(other.profileOptions.zoomed, "crunch@workload.py");
  assert.equal(open().profileOptions.zoomed, "");
});

test("an address has no more runs than fit, and only measures that there are", () => {
  assert.equal(open("?runs=1-9999999999").runOptions.runs?.length, MOST_RUNS);
  assert.deepEqual(open("?runs=x,-1,3").runOptions.runs, [3]);
  meansNothing("?measure=swapped");
});

test("thousands of hidden prefixes are a short address", () => {
  const shown = open();
  const hidden = Array.from({ length: 2990 }, (_, place) => place + 5).filter((id) => id % 500);
  shown.selection.hide(hidden);
  const query = shown.address.query();
  assert.ok(query.length < 200, query);
  assert.deepEqual([...open(query).selection.hidden], hidden);
});

test("hidden prefixes that are no ranges are left out of the address when they would make it too long", () => {
  const shown = open();
  shown.selection.hide(Array.from({ length: 1000 }, (_, place) => 2 * place + 1));
  assert.ok(!shown.address.query().includes("hide="));
});

test("a range in an address can't hide more than there can be", () => {
  assert.equal(open("?hide=1-9999999999").selection.hidden.size, 10_000);
  meansNothing("?hide=9-3,-,1-,-4,1e3,2-3-4,99999999999");
});

test("a live address follows now with a window as long", () => {
  const { timeline } = open("?live=120");
  near(timeline.length, 120);
  assert.equal(timeline.live, true);
});

for (const query of [
  "",
  "?from=1&to=2&at=3",
  `?from=${FIRST}`,
  `?from=${FIRST + 1}&to=${FIRST}`,
  "?from=NaN&to=Infinity&at=1e999",
  "?speed=3&live=-1&worker=x&prefix=1.5&worker=",
  "?at=&live=&speed=",
  "?sort=color&rows=&only=1",
  "?hide=,-1,x,1.5",
  `?key=${"x".repeat(3000)}`,
  "?%E0%A4%A",
]) {
  test(`what makes no sense is ignored: ${query.slice(0, 50)}`, () => meansNothing(query));
}

test("charts are names and nothing else", () => {
  assert.deepEqual(open("?charts=task-stream,<img>,memory,,").address.charts, ["task-stream", "memory"]);
});
