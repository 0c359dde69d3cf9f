// The events of a cluster, and the gaps in what was recorded of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { eventsTrack } from "../../../frontend/charts/events/track.js";
import { Events } from "../../../frontend/timeline/marks/events.js";
import { FIRST, block, decoded, events as eventBlock } from "../make.js";

/** @returns {any} */
function tile(start, stop, ...parts) {
  const blocks = new Map(decoded(...parts).map((each) => [each.kind, [each]]));
  return { layer: "events", start, stop, blocks };
}

function load(...tiles) {
  const events = new Events();
  events.load(tiles);
  return events;
}

const COUNTED = block("event-count", [{ bin: 1, count: 1000, kind: "tasks-erred" }], { level: 20, index: 0 });
const WHOLE = tile(0, 512, eventBlock([[400, "worker-lost"]]), COUNTED);
const WINDOW = tile(
  0,
  8,
  eventBlock([
    [1, "tasks-erred"],
    [2, "tasks-erred"],
    [3, "tasks-erred"],
  ]),
);
const shown = (list) => list.map(({ time, kind, count }) => [Math.round(time), kind, count]);

test("what was not seen is a gap until it was seen again", () => {
  const rows = /** @type {[number, string][]} */ ([
    [FIRST + 10, "stream-lost"],
    [FIRST + 12, "stream-lost"],
    [FIRST + 20, "stream-resumed"],
    [FIRST + 15, "worker-lost"],
    [FIRST + 30, "scheduler-unreachable"],
  ]);
  const events = load(tile(0, 1e12, eventBlock(rows)));
  const gaps = events.gaps.map((gap) => [gap.kind, gap.start - FIRST, gap.stop && gap.stop - FIRST]);
  assert.deepEqual(gaps, [
    ["stream", 10, 20],
    ["scheduler", 30, null],
  ]);
  assert.equal(events.after(FIRST + 12)?.kind, "worker-lost");
  assert.equal(events.before(FIRST + 12)?.time, FIRST + 10);
  assert.ok(!events.after(FIRST + 30));
  assert.equal(events.gapsBetween(FIRST + 16, FIRST + 17).length, 1);
  assert.equal(events.gapsBetween(FIRST + 21, FIRST + 29).length, 0);
});

test("a time that no collector observed is a gap in all that is recorded", () => {
  const bounds = { first: FIRST + 5, last: FIRST + 36 };
  const events = load(tile(0, 1e12, eventBlock([[FIRST + 5, "not-observed", bounds]])));
  const [gap] = events.gapsBetween(FIRST + 6, FIRST + 7, "tasks");
  assert.deepEqual([gap.start - FIRST, (gap.stop ?? 0) - FIRST, gap.concerns], [5, 36, "all"]);
  assert.equal(gap.label, "not recorded");
  const stopped = { ...bounds, reason: "the collector stood still for 31 s" };
  const [told] = load(tile(0, 1e12, eventBlock([[FIRST + 5, "not-observed", stopped]]))).gapsBetween(
    FIRST + 6,
    FIRST + 7,
  );
  assert.equal(told.label, "not recorded: the collector stood still for 31 s");
  assert.equal(events.gapsBetween(FIRST + 37, FIRST + 38).length, 0);
});

test("what an agent dropped is a gap that tells how much and why", () => {
  const dropped = { first: FIRST + 5, last: FIRST + 25, kind: "sample", count: 1234, reason: "spool-full" };
  const events = load(
    tile(
      0,
      1e12,
      eventBlock([
        [FIRST + 5, "records-dropped", dropped],
        [FIRST + 8, "worker-lost"],
      ]),
    ),
  );
  const [gap] = events.gaps;
  assert.deepEqual([gap.start - FIRST, (gap.stop ?? 0) - FIRST], [5, 25]);
  assert.equal(
    gap.label,
    "1,234 samples were dropped: the agent's memory and disk space for records were full",
  );
  const count = (what) => events.gapsBetween(FIRST + 10, FIRST + 11, what).length;
  assert.deepEqual([count("samples"), count("tasks"), count()], [1, 0, 1]);
});

test("what the collector dropped is a gap with the true reason, and less frequent scrapes are one in samples", () => {
  const dropped = {
    first: FIRST + 1,
    last: FIRST + 9,
    kind: "sample",
    count: 1171516,
    reason: "database-slow",
  };
  const undrawn = { ...dropped, kind: "undrawn-sample", count: 7, reason: "collector-overloaded" };
  const slowed = { first: FIRST + 1, last: FIRST + 4, message: "metrics were read up to 4 times less often" };
  const kinds = /** @type {[string, any][]} */ ([
    ["records-dropped", dropped],
    ["records-dropped", undrawn],
    ["scraping-slowed", slowed],
  ]);
  const events = load(tile(0, 1e12, eventBlock(kinds.map(([kind, detail]) => [FIRST + 1, kind, detail]))));
  assert.deepEqual(
    events.gaps.map((gap) => [gap.label, gap.concerns, (gap.stop ?? 0) - FIRST]),
    [
      ["1,171,516 samples were dropped: the database was too slow", "samples", 9],
      [
        "7 samples of metrics without a chart were dropped: the collector had more work than it could do",
        "other",
        9,
      ],
      ["metrics were read up to 4 times less often", "samples", 4],
    ],
  );
});

test("the time in which one worker's metrics could not be read is a gap of that worker", () => {
  const missing = {
    first: FIRST + 5,
    last: FIRST + 20,
    message: "the worker's metrics could not be read for 15 s",
  };
  const events = load(tile(0, 1e12, eventBlock([[FIRST + 5, "worker-metrics-missing", missing, 7]])));
  const count = (/** @type {number[]} */ ...workers) =>
    events.gapsBetween(FIRST + 6, FIRST + 7, "samples", workers).length;
  assert.deepEqual([count(7), count(6, 7), count(8), count()], [1, 1, 0, 0]);
  assert.deepEqual(events.sampleGaps, [{ start: FIRST + 5, stop: FIRST + 20, worker: 7 }]);
});

test("the time in which the scheduler's metrics could not be read is a gap in samples of the cluster", () => {
  const missing = {
    first: FIRST + 5,
    last: FIRST + 20,
    message: "the scheduler's metrics could not be read for 15 s",
  };
  const events = load(tile(0, 1e12, eventBlock([[FIRST + 5, "scheduler-metrics-missing", missing]])));
  assert.equal(events.gapsBetween(FIRST + 6, FIRST + 7, "samples").length, 1);
  assert.equal(events.gapsBetween(FIRST + 6, FIRST + 7, "tasks").length, 0);
  assert.deepEqual(events.sampleGaps, [{ start: FIRST + 5, stop: FIRST + 20, worker: null }]);
});

test("what the whole cluster's tiles only count is told by the window's", () => {
  const events = load(WHOLE);
  events.setNotes(/** @type {any} */ ([{ time: 2.4, stop: null, text: "look", author: "ada" }]));
  const counted = [
    [2, "tasks-erred", 1000],
    [2, "note", 1],
    [400, "worker-lost", 1],
  ];
  assert.deepEqual(shown(events.list), counted);
  assert.equal(events.areCounted, true);
  assert.deepEqual(shown(events.within([WINDOW])), [
    [1, "tasks-erred", 1],
    [2, "tasks-erred", 1],
    [2, "note", 1],
    [3, "tasks-erred", 1],
  ]);
  assert.deepEqual(shown(events.within([])), counted);
});

test("where all are told no further tiles are wanted", () => {
  const layers = [load(WINDOW), load(WHOLE)].map((events) =>
    /** @type {any} */ (eventsTrack).layers({ events }),
  );
  assert.deepEqual(layers, [[], ["events"]]);
});

test("lines of samples are interrupted by gaps in them and by the cluster's end, not by slower scrapes", () => {
  const bounds = (/** @type {number} */ first) => ({
    first: FIRST + first,
    last: FIRST + first + 5,
    message: "",
  });
  const events = load(tile(0, 1e12, eventBlock([
    [FIRST + 10, "scheduler-unreachable"],
    [FIRST + 20, "scheduler-reachable"],
    [FIRST + 30, "not-observed", bounds(30)],
    [FIRST + 40, "scraping-slowed", bounds(40)],
    [FIRST + 50, "stream-lost"],
    [FIRST + 60, "cluster-ended"],
  ]))); // prettier-ignore
  const found = events.sampleGaps.map(({ start, stop }) => [start - FIRST, (stop ?? Infinity) - FIRST]);
  assert.deepEqual(found, [
    [10, 20],
    [30, 35],
    [60, 60],
  ]);
});
