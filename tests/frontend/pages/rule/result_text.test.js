import assert from "node:assert/strict";
import { test } from "node:test";
import { offered, resultInWords } from "../../../../frontend/pages/rule/result_text.js";

const QUIET = {
  start: 0,
  stop: 100,
  is_event: false,
  unit: "",
  threshold: 1,
  clear_threshold: null,
  lines: [{ cluster: "etl", subject: "w0", times: [0], values: [1], marks: [] }],
  firings: [],
  more_lines: 0,
  more_firings: 0,
  clusters: ["etl"],
  more_clusters: 0,
  lasted: null,
  too_short: { count: 0, longest: 0 },
  hold: 30,
  clear_offer: null,
  runs: null,
};

test("a rule that would not have fired says so", () => {
  assert.equal(resultInWords(QUIET), "The rule would not have fired. Evaluated on etl.");
});

test("the durations of firings are shown", () => {
  const lasted = { count: 13, median: 12, shortest: 2 };
  assert.equal(
    resultInWords({ ...QUIET, lasted }),
    "The rule would have fired 13 times. Firings lasted 12.0 s in the median, the shortest 2.00 s. Evaluated on etl.",
  );
  const once = { count: 1, median: 60, shortest: 60 };
  assert.match(resultInWords({ ...QUIET, lasted: once }), /fired once\. It lasted 1 min\./);
});

test("runs with too few earlier ones are counted", () => {
  const runs = { ended: 4, unjudged: 3, fewest: 3 };
  const few = "not judged: fewer than 3 earlier runs of the name are known.";
  assert.ok(resultInWords({ ...QUIET, runs }).includes(`3 of 4 runs were ${few}`));
  assert.ok(resultInWords({ ...QUIET, runs: { ...runs, unjudged: 4 } }).includes(`All 4 runs were ${few}`));
  assert.ok(
    resultInWords({ ...QUIET, runs: { ...runs, ended: 1, unjudged: 1 } }).includes(
      `The run that ended was ${few}`,
    ),
  );
  assert.ok(!resultInWords({ ...QUIET, runs: { ...runs, unjudged: 0 } }).includes("not judged"));
  const none = resultInWords({ ...QUIET, lines: [], runs: { ended: 0, unjudged: 0, fewest: 3 } });
  assert.match(none, /^No run with such a name ended in the window\./);
});

test("crossings that are too short to fire are shown", () => {
  const words = resultInWords({ ...QUIET, too_short: { count: 5, longest: 12 } });
  assert.match(
    words,
    /The threshold was crossed 5 times for less than 30\.0 s, the longest 12\.0 s: too short to fire\./,
  );
  const once = resultInWords({ ...QUIET, is_event: true, too_short: { count: 1, longest: 12 } });
  assert.match(once, /The condition was true once for less than 30\.0 s, for 12\.0 s: too short to fire\./);
});

test("an offered threshold to clear at says what would then have fired", () => {
  const lasted = { count: 3, median: 120, shortest: 90 };
  const words = offered({ text: "85.5 %", lasted });
  assert.match(
    words,
    /Clearing at 85\.5 %, the rule would have fired 3 times, for 2 min in the median, at least 1 min 30 s\./,
  );
  assert.match(
    offered({ text: "85.5 %", lasted: { count: 1, median: 60, shortest: 60 } }),
    /have fired once, for 1 min\./,
  );
});
