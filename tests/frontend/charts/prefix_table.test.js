import assert from "node:assert/strict";
import { test } from "node:test";

import { TASK_STATES } from "../../../frontend/contract.js";
import { statesByIds } from "../../../frontend/charts/prefix_table/at_playhead.js";
import {
  barsOf,
  describe,
  durationAxis,
  secondsOf,
} from "../../../frontend/charts/prefix_table/duration_bars.js";
import { searchUrl, searchedTimes } from "../../../frontend/charts/prefix_table/key_search.js";
import { describeStates, tasksToDo } from "../../../frontend/charts/prefix_table/state_bar.js";

/** @typedef {import("../../../frontend/charts/prefix_table/duration_bars.js").Durations} Durations */

const BINS = { shortest: 1e-6, bins_of_octave: 4 };

/**
 * @param {[number, number][]} histogram
 * @returns {Durations}
 */
function durations(histogram) {
  return { tasks: 3, seconds: 1, shortest: 0.05, median: 0.1, p95: 0.2, longest: 0.5, histogram, nbytes: 0 };
}

test("all histograms have room on one axis, and a single duration is no wide bar", () => {
  const axis = durationAxis([durations([[40, 1], [50, 9]]), durations([[45, 2], [72, 1]]), durations([])], BINS); // prettier-ignore
  assert.deepEqual([axis.first, axis.last], [40, 73]);
  assert.equal(secondsOf(axis, 40), 1e-6 * 2 ** 10);
  const narrow = durationAxis([durations([[40, 1]])], BINS);
  assert.ok(narrow.first < 40 && narrow.last > 41 && narrow.last - narrow.first === 8);
  const none = durationAxis([], BINS);
  assert.ok(none.last > none.first);
});

test("bars have as many bins as their width needs, and no task is lost", () => {
  const histogram = /** @type {[number, number][]} */ (Array.from({ length: 100 }, (_, bin) => [bin, bin]));
  const axis = durationAxis([durations(histogram)], BINS);
  const { bins, counts } = barsOf(histogram, axis, 60);
  assert.equal(bins, 5);
  assert.equal(counts.size, 20);
  assert.equal(
    [...counts.values()].reduce((sum, count) => sum + count),
    4950,
  );
  assert.equal(barsOf(histogram, axis, 600).bins, 1);
});

test("a histogram says in words what it shows", () => {
  assert.equal(
    describe(durations([[40, 3]])),
    "3 tasks: the shortest 50 ms, median 100 ms, 95 % up to 200 ms, the longest 500 ms",
  );
  assert.equal(describe({ ...durations([[40, 1]]), tasks: 1 }), "1 task: 500 ms");
  assert.equal(describe({ ...durations([]), median: null }), "No task ended.");
});

test("keys are searched in a run's own time, in all of a cluster, and not through a link", () => {
  const source = /** @type {any} */ ({ pages: "/clusters/3/" });
  const of = (/** @type {object} */ info, pages = source) => /** @type {any} */ ({ info, source: pages });
  const run = of({ is_whole: false, started: 10.5, ended: 20 });
  assert.equal(searchUrl(run, "a&b"), "/clusters/3/tasks/?q=a%26b&from=10.500000&to=20.000000");
  assert.deepEqual(searchedTimes(of({ is_whole: false, started: 10.5, ended: null })), [
    ["from", "10.500000"],
  ]);
  assert.equal(searchUrl(of({ is_whole: true, started: 1, ended: 2 }), "x"), "/clusters/3/tasks/?q=x");
  assert.equal(searchUrl(of({ is_whole: true }, { pages: null }), "x"), null);
});

test("the tasks of a prefix in each state are those of all its groups", () => {
  const [waiting, memory] = [TASK_STATES.indexOf("waiting"), TASK_STATES.indexOf("memory")];
  const none = () => TASK_STATES.map(() => 0);
  const group = (/** @type {number} */ id, /** @type {number} */ prefix, /** @type {number} */ count) => ({
    group: id,
    prefix,
    before: none().map((_, state) => (state === waiting ? count : 0)),
  });
  const changes = {
    start: 0,
    width: 1,
    bins: 9,
    group: [1, 1],
    bin: [2, 2],
    state: [waiting, memory],
    change: [-2, 2],
  };
  const graph = /** @type {any} */ ({
    start: 0,
    stop: 9,
    has_states: true,
    groups: [group(7, 1, 4), group(8, 1, 3), group(9, 2, 1)],
    changes,
  });
  const before = statesByIds(graph, 1).prefixes.get(1) ?? [];
  assert.deepEqual([describeStates(before), tasksToDo(before)], ["7 waiting", 7]);
  const { groups, prefixes } = statesByIds(graph, 5);
  assert.equal(describeStates(prefixes.get(1) ?? []), "5 waiting, 2 memory");
  assert.equal(describeStates(groups.get(8) ?? []), "1 waiting, 2 memory");
  assert.equal(describeStates(prefixes.get(2) ?? []), "1 waiting");
  assert.equal(statesByIds({ ...graph, has_states: false }, 5).prefixes.size, 0);
  assert.equal(describeStates(none()), "no tasks");
});
