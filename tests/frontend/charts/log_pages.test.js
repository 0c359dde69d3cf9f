// The log lines that are loaded: around the playhead, the newest of a live window, and more at each request.

import { pass, stopClock } from "../clock.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { LogPages, MOST } from "../../../frontend/charts/logs/log_pages.js";
import { Features } from "../../../frontend/timeline/features.js";
import { LogOptions } from "../../../frontend/charts/logs/options.js";

/** @param {number} time */
const line = (time) => ({
  id: `${time}_0`,
  time,
  level: 20,
  role: "scheduler",
  worker: null,
  name: "",
  pid: 1,
  logger: "x",
  message: "",
  traceback: "",
});

/** A server with lines at whole seconds, which answers with at most `limit` of them. @param {number[]} times */
function open(times, limit = 10) {
  /** @type {URLSearchParams[]} */
  const asked = [];
  const context = {
    info: { sequence: 1 },
    features: new Features(/** @type {any} */ ({})),
    selection: { worker: null },
    model: { lifetimesOf: () => [] },
    source: {
      url: "",
      fetch: async (/** @type {string} */ url) => {
        const query = new URLSearchParams(url.split("?")[1]);
        asked.push(query);
        const [after, before] = [Number(query.get("after")), Number(query.get("before"))];
        const found = times.filter((time) => time >= after && time < before).sort((a, b) => a - b);
        const [older, newer] = [query.get("older"), query.get("newer")];
        let [from, to] = [Math.max(found.length - limit, 0), found.length];
        if (older)
          [from, to] = [Math.max(found.indexOf(parseInt(older)) - limit, 0), found.indexOf(parseInt(older))];
        else if (newer)
          [from, to] = [found.indexOf(parseInt(newer)) + 1, found.indexOf(parseInt(newer)) + 1 + limit];
        else if (query.has("at")) {
          from = Math.max(found.findIndex((time) => time >= Number(query.get("at"))) - limit / 2, 0);
          to = from + limit;
        }
        const lines = found.slice(from, to).map(line);
        const answer = {
          lines,
          older: from > 0 ? lines[0].id : null,
          newer: to < found.length ? lines[lines.length - 1].id : null,
          searched_from: null,
          searched_to: null,
        };
        return { ok: true, status: 200, headers: new Headers(), json: async () => answer };
      },
    },
  };
  const pages = new LogPages(/** @type {any} */ (context));
  return { pages, asked, context, times: () => pages.lines.map(({ time }) => time) };
}

/** @param {Partial<import("../../../frontend/types.js").View>} view */
const view = (view) => /** @type {any} */ ({ start: 0, stop: 1000, playhead: 50, live: false, ...view });
const HUNDRED = Array.from({ length: 100 }, (_, index) => index);

test("lines around the playhead are loaded, and more at each request", async (t) => {
  stopClock(t);
  const { pages, times } = open(HUNDRED);
  pages.update(view({}));
  await pass(50);
  assert.deepEqual(times(), HUNDRED.slice(45, 55));
  await pages.extend("older");
  await pages.extend("newer");
  assert.deepEqual(times(), HUNDRED.slice(35, 65));
});

test("a playhead that leaves the loaded lines is followed, and one among them asks for nothing", async (t) => {
  stopClock(t);
  const { pages, asked, times } = open(HUNDRED);
  pages.update(view({}));
  await pass(50);
  pages.update(view({ playhead: 52 }));
  await pass(1000);
  assert.equal(asked.length, 1);
  pages.update(view({ playhead: 80 }));
  await pass(1000);
  assert.deepEqual(times(), HUNDRED.slice(75, 85));
});

test("a live window appends what is new and sorts in what came late, once batches were stored", async (t) => {
  stopClock(t);
  const stored = [1, 2, 3, 9];
  const { pages, asked, times, context } = open(stored);
  pages.update(view({ live: true }));
  await pass(50);
  assert.deepEqual(times(), [1, 2, 3, 9]);
  stored.push(5, 10);
  pages.update(view({ live: true, stop: 1001 }));
  await pass(5000);
  assert.equal(asked.length, 1, "nothing was stored");
  context.info.sequence = 2;
  pages.update(view({ live: true, stop: 1002 }));
  await pass(5000);
  assert.deepEqual(times(), [1, 2, 3, 5, 9, 10]);
});

test("the number of lines is bounded, and those that were forgotten can be loaded again", async (t) => {
  stopClock(t);
  const all = Array.from({ length: 3 * MOST }, (_, index) => index);
  const { pages } = open(all, 600);
  pages.update(view({ stop: 3 * MOST, playhead: 3000 }));
  await pass(50);
  for (let time = 0; time < 4; time++) await pages.extend("older");
  assert.equal(pages.lines.length, MOST);
  const last = pages.lines[MOST - 1].time;
  await pages.extend("newer");
  assert.equal(pages.lines[pages.lines.length - 1].time, last + 600);
});

test("another filter forgets the lines of the one before", async (t) => {
  stopClock(t);
  const { pages, asked, context } = open(HUNDRED);
  pages.update(view({}));
  await pass(50);
  context.features.of(LogOptions).set({ match: "a+b", isRegex: true, level: 30 });
  pages.update(view({}));
  await pass(1000);
  const [, query] = asked;
  assert.deepEqual(
    ["match", "regex", "level"].map((name) => query.get(name)),
    ["a+b", "true", "30"],
  );
});
