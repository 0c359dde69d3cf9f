import assert from "node:assert/strict";
import { test } from "node:test";

import { computingText, withoutCoreText } from "../../../frontend/charts/thread_times/computing.js";
import { partsOf, rowsOf } from "../../../frontend/charts/thread_times/rows.js";

/** @typedef {import("../../../frontend/types.js").Schemas["ThreadTimes"]} ThreadTimes */

/** @param {string} kind @param {number} seconds */
const kind = (kind, seconds) => ({ kind, title: kind, help: `means ${kind}`, needs_agent: false, seconds });

/** @type {ThreadTimes} */
const FOUND = {
  start: 0,
  stop: 10,
  has_agent: true,
  kinds: [kind("computing", 6), kind("paused", 0), kind("nothing", 2)],
  computing: { seconds: 6, gil: 1.5, has_code: true, samples: 0, functions: [] },
  workers: [{ worker: 1, threads: 1, seconds: [6, 0, 2] }],
  other_workers: 0,
  prefixes: [{ prefix: 4, name: "inc", seconds: [6, 0, 0], blamed: 1.5, gil: 1.5 }],
  other_prefixes: 0,
  waited_for: [],
  over_time: { start: 0, width: 10, seconds: [[6], [0], [2]] },
};
const name = (/** @type {number} */ worker) => `w${worker}`;

test("what threads did is listed with its share of all, without what took no time", () => {
  const rows = rowsOf(FOUND, "kinds", name).map(({ kind, seconds, share, help }) => [
    kind,
    seconds,
    share,
    help,
  ]);
  assert.deepEqual(rows, [["computing", 6, 0.75, "means computing"], ["nothing", 2, 0.25, "means nothing"]]); // prettier-ignore
});

test("a worker and a prefix are divided by what their time went to", () => {
  const [worker] = rowsOf(FOUND, "workers", name);
  assert.deepEqual([worker.name, worker.worker, worker.seconds, worker.share], ["w1", 1, 8, 1]);
  assert.deepEqual(worker.parts.map(({ kind, share }) => [kind, share]), [["computing", 0.75], ["nothing", 0.25]]); // prettier-ignore
  const [prefix] = rowsOf(FOUND, "prefixes", name);
  assert.deepEqual([prefix.prefix, prefix.seconds, prefix.blamed], [4, 6, 1.5]);
});

test("the bar of all threads has the kinds in order, and no part where no worker lived", () => {
  assert.deepEqual(partsOf(FOUND).map(({ kind }) => kind), ["computing", "nothing"]); // prettier-ignore
  assert.deepEqual(partsOf({ ...FOUND, kinds: FOUND.kinds.map((one) => ({ ...one, seconds: 0 })) }), []); // prettier-ignore
});

test("computing is divided by the wait for the GIL, and by the functions that the profile saw", () => {
  const functions = [{ name: "solve", file: "a.py", line: 3, prefix: 4, share: 1 }];
  const computing = { ...FOUND.computing, samples: 1200, functions };
  assert.equal(
    computingText(computing),
    "About 1.50 s (25 %) of computing waited for the GIL. Functions in 1,200 samples of the profile:",
  );
  assert.match(computingText({ ...computing, gil: null }), /^Waits for the GIL were not sampled/);
  assert.match(
    computingText({ ...computing, has_code: false, functions: [] }),
    /The functions are not shared with this link\.$/,
  );
  assert.match(computingText({ ...computing, functions: [] }), /waited for the GIL\.$/);
  assert.equal(computingText({ ...computing, seconds: 0 }), "");
});

test("what the machine kept of the threads' time is told from a tenth of it", () => {
  const kinds = /** @type {any} */ ([{ seconds: 60 }, { seconds: 40 }]);
  const text = withoutCoreText({ kinds, without_core: { waiting: 50, computing: 20 } });
  assert.match(text, /^For 1 min 10 s \(70 %\) of the threads' time the machine had no free core/);
  assert.equal(withoutCoreText({ kinds, without_core: { waiting: 5, computing: 4 } }), "");
  assert.equal(withoutCoreText({ kinds, without_core: null }), "");
});
