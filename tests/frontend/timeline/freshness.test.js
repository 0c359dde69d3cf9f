// How far live data is behind, by the data's own clock, and whether it arrives at all.

import "../browser.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { followLive } from "../../../frontend/pages/cluster/live.js";
import { Freshness } from "../../../frontend/timeline/freshness.js";
import { FIRST, INFO } from "../make.js";

/** @param {object} info @param {number} now seconds after FIRST */
function open(info, now) {
  const timeline = { now: () => FIRST + now };
  return new Freshness(/** @type {any} */ ({ ...INFO, ...info }), /** @type {any} */ (timeline));
}

for (const [now, text] of /** @type {[number, string][]} */ ([
  [1001.5, ""],
  [1002.9, ""],
  [1003, "3 s behind"],
  [1012.7, "12 s behind"],
  [1125, "2 min 5 s behind"],
])) {
  test(`${now - 1000} s after the last complete instant the page says: ${text || "nothing"}`, () => {
    assert.equal(open({ committed: FIRST + 1000 }, now).text, text);
  });
}

test("the time of which nothing has arrived is unloaded up to now", () => {
  const [part, ...others] = open({ committed: FIRST + 1000 }, 1012.5).unreceived();
  assert.deepEqual(others, []);
  assert.deepEqual([part.start, part.stop], [FIRST + 1000.5, FIRST + 1012.5]);
  assert.match(part.message, /12 s behind/);
});

test("a cluster that has ended is not behind", () => {
  const freshness = open({ ended: FIRST + 1000 }, 5000);
  assert.deepEqual([freshness.text, freshness.unreceived(), freshness.isReceiving], ["", [], false]);
});

test("a cluster of which nothing was recorded yet is not behind", () => {
  assert.equal(open({ first: 0, committed: 0 }, 0).text, "");
});

test("live, idle, behind, disconnected and ended are told apart", () => {
  const state = (
    /** @type {Record<string, number>} */ tasks,
    tasks_at = /** @type {number|null} */ (FIRST),
  ) => /** @type {any} */ ({ tasks, tasks_at });
  const [busy, idle] = [state({ memory: 3, processing: 1 }), state({ memory: 3, processing: 0 })];
  const freshness = open({ committed: FIRST + 1000 }, 1001);
  assert.deepEqual(
    [busy, idle, state({}, null), null].map((one) => freshness.status(one)),
    ["live", "idle", "live", "live"],
  );
  assert.equal(open({ committed: FIRST + 1000 }, 1010).status(idle), "behind");
  freshness.set(false);
  assert.equal(freshness.status(idle), "disconnected");
  assert.equal(open({ ended: FIRST + 1000 }, 5000).status(idle), "ended");
});

test("a cluster that is not heard says when it was last, not that its recording is behind", () => {
  const freshness = open({ committed: FIRST + 1000, unheard: 40.7 }, 1041);
  assert.equal(freshness.text, "last heard 40 s ago");
  assert.equal(freshness.status(null), "unheard");
  assert.match(freshness.unreceived()[0].message, /41 s behind/);
  assert.equal(open({ unheard: 95 }, 1096).text, "last heard 1 min 35 s ago");
  assert.equal(open({ ended: FIRST + 1000, unheard: 0 }, 5000).text, "");
  freshness.set(false);
  assert.equal(freshness.status(null), "disconnected");
  assert.equal(freshness.text, "41 s behind", "the page can't know what the server heard since");
});

/**
 * A page that follows a socket; `answer` is that of the server, which takes its time.
 * @param {{hasStarted?: boolean, answer?: () => Promise<never>}} [options]
 */
function follow({ hasStarted = true, answer = () => new Promise(() => {}) } = {}) {
  const target = { id: 1, name: "t", stream: "stolen", last_error: "no answer" };
  const info = { ...INFO, sequence: 4, target };
  const live = Object.assign(new EventTarget(), { hasStarted });
  const noted = { expected: 0, set: [], states: [], bounds: 0, asked: /** @type {string[]} */ ([]) };
  const context = {
    info,
    source: {
      url: "",
      fetch: (/** @type {string} */ path) => {
        noted.asked.push(path);
        return answer();
      },
    },
    model: { lanesVersion: "7-2-1-9", apply() {} },
    tiles: {
      begin() {},
      end() {},
      append: () => false,
      setExtent() {},
      expectSocket: () => (noted.expected += 1),
    },
    timeline: { setBounds: () => (noted.bounds += 1) },
    playheadState: {
      receive: (/** @type {any} */ state) => noted.states.push(/** @type {never} */ (state)),
      complete() {},
      forget() {},
      expectSocket: () => (noted.expected += 1),
    },
    freshness: open({ committed: FIRST + 1000 }, 1000),
  };
  followLive(/** @type {any} */ (live), /** @type {any} */ (context));
  /** @param {string} name @param {any} [detail] */
  const send = (name, detail) => live.dispatchEvent(new CustomEvent(name, { detail }));
  return { info, target, context, send, noted, asked: noted.asked };
}

const EXTENT = {
  committed: FIRST + 1010,
  first: FIRST,
  last: FIRST + 1009,
  version: 1,
  sequence: 5,
  ended: null,
  end_reason: "",
  task_count: 7,
  error_count: 3,
  worker_count: 2,
  stream: "receiving",
};
const FIRST_EXTENT = { ...EXTENT, lanes_version: "7-2-1-9" };

test("a frame updates everything that the extent says", () => {
  const { info, send } = follow();
  send("frame", [{ kind: "extent", meta: EXTENT }]);
  assert.deepEqual({ ...info, ...EXTENT }, info);
});

test("tiles and the state are expected from a socket that was started, not from one that will be later", () => {
  assert.equal(follow().noted.expected, 2);
  assert.equal(follow({ hasStarted: false }).noted.expected, 0);
});

test("the status of the target is current although no frame arrives", () => {
  const { info, target, send } = follow();
  send("target", { stream: "receiving", last_error: "", unheard: 12 });
  assert.deepEqual([target.stream, target.last_error, info.unheard], ["receiving", "", 12]);
});

test("a page whose socket is down receives nothing until it is connected again", () => {
  const { context, send } = follow();
  const { freshness } = context;
  send("begin", { ...FIRST_EXTENT, sequence: 4 });
  assert.equal(freshness.isReceiving, true);
  send("lost");
  assert.equal(freshness.isReceiving, false);
  send("begin", { ...FIRST_EXTENT, sequence: 4 });
  assert.equal(freshness.isReceiving, true);
  send("refused", "Sign in to see this cluster.");
  send("lost");
  assert.deepEqual([freshness.isReceiving, freshness.refused], [false, "Sign in to see this cluster."]);
});

test("after what was stored while the page was loaded, lanes are asked for only where they are others", () => {
  for (const [extent, asked] of /** @type {[object, string[]][]} */ ([
    [{ sequence: 3 }, []], // the socket was connected before: its frames bring the rest
    [{ sequence: 4 }, []],
    [{ sequence: 5 }, [""]],
    [{ sequence: 5, lanes_version: "8-3-1-9" }, ["", "/lanes"]],
    [{ sequence: 4, lanes_version: "8-3-1-9" }, ["", "/lanes"]],
  ])) {
    const page = follow();
    page.send("begin", { ...FIRST_EXTENT, ...extent });
    assert.deepEqual(page.asked, asked);
  }
});

test("a page that is connected again to a store with less in it, as after a restore, catches up", async () => {
  const { send, asked } = follow();
  for (const sequence of [4, 3]) send("begin", { ...FIRST_EXTENT, sequence });
  assert.deepEqual(asked, [""]);
});

test("a page that could not catch up tries again when it is connected again", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const { send, asked } = follow({ answer: () => Promise.reject(new Error("the server is away")) });
  for (const sequence of [5, 6]) {
    send("begin", { ...FIRST_EXTENT, sequence });
    await new Promise(setImmediate);
  }
  assert.deepEqual(asked, ["", ""]);
  assert.equal(warn.mock.callCount(), 2);
});
