// The address says what is on the screen; what it can't mean is ignored.

import assert from "node:assert/strict";
import { test } from "node:test";
import { applyPlace, currentPlace, formatPlace, parsePlace } from "../../../frontend/timeline/address.js";
import { HeatOptions } from "../../../frontend/timeline/heat_options.js";
import { LaneOptions } from "../../../frontend/timeline/lane_options.js";
import { Selection } from "../../../frontend/timeline/selection.js";
import { Timeline } from "../../../frontend/timeline/timeline.js";
import { FIRST, INFO } from "../make.js";
import { near } from "../near.js";

function open() {
  const timeline = new Timeline(/** @type {any} */ (INFO), () => 0);
  return { timeline, selection: new Selection(), laneOptions: new LaneOptions(), heatOptions: new HeatOptions() };
}

function parse(query) {
  return Object.fromEntries(Object.entries(parsePlace(query)).filter(([, value]) => value !== undefined));
}

test("an address that was copied shows the same", () => {
  const shown = open();
  const { timeline, selection, laneOptions } = shown;
  shown.heatOptions.set({ quantity: "duration", group: "SLURM_JOB_ID", order: "name" });
  laneOptions.set({ order: "most memory", filter: "lost & <b>", onlyPrefix: true });
  timeline.setWindow(FIRST + 100.25, FIRST + 160.5);
  timeline.setPlayhead(FIRST + 123.456);
  timeline.setSpeed(4);
  selection.set({ prefix: 7, key: "('x', 1)&at=<b>" });
  selection.hide([3, 9]);
  const query = formatPlace(currentPlace(shown, ["task-stream", "memory"]));
  const other = open();
  const place = parsePlace(query);
  applyPlace(place, other);
  const copied = formatPlace(currentPlace(other, place.charts));
  assert.equal(copied, query);
  const { quantity, group, order: rank } = other.heatOptions;
  assert.deepEqual([quantity, group, rank], ["duration", "SLURM_JOB_ID", "name"]);
  assert.equal(other.selection.key, "('x', 1)&at=<b>");
  assert.deepEqual([...other.selection.hidden], [3, 9]);
  const { order, filter, onlyPrefix } = other.laneOptions;
  assert.deepEqual([order, filter, onlyPrefix], ["most memory", "lost & <b>", true]);
});

test("a live address follows now with a window as long", () => {
  const shown = open();
  const { timeline } = shown;
  applyPlace(parsePlace("?live=120"), shown);
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
  test(`what makes no sense is ignored: ${query.slice(0, 50)}`, () => assert.deepEqual(parse(query), {}));
}

test("charts are names and nothing else", () => {
  assert.deepEqual(parse("?charts=task-stream,<img>,memory,,").charts, ["task-stream", "memory"]);
});
