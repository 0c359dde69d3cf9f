import assert from "node:assert/strict";
import { test } from "node:test";

import { costText, noteText, nothingText, togetherText } from "../../../frontend/charts/findings/texts.js";

/** @typedef {import("../../../frontend/types.js").Context} Context */

/** @param {object} findings @param {string} url */
const context = (findings, url) =>
  /** @type {Context} */ (/** @type {unknown} */ ({ answers: { "/findings": findings }, source: { url } }));

const SUM = { least_wall_seconds: null, most_wall_seconds: null };

test("a cost says the time of threads and of all, and nothing where a finding costs nothing", () => {
  assert.equal(
    costText({ ...SUM, thread_seconds: 90, wall_seconds: 12 }),
    "1 min 30 s of threads, 12.0 s in all, as a sum",
  );
  assert.equal(costText({ ...SUM, thread_seconds: 3600, wall_seconds: 0 }), "1 h of threads");
  assert.equal(costText({ ...SUM, thread_seconds: 0, wall_seconds: 0 }), "");
});

test("a cost that was simulated says between what it is", () => {
  const cost = { thread_seconds: 90, wall_seconds: 12, least_wall_seconds: 10, most_wall_seconds: 15 };
  assert.equal(costText(cost), "1 min 30 s of threads, 12.0 s in all (10.0 s – 15.0 s)");
});

test("findings that explain the time only together say so", () => {
  assert.equal(togetherText({ together_seconds: 0 }), "");
  assert.match(
    togetherText({ together_seconds: 7.5 }),
    /^Only together .* would have been 7\.50 s shorter\.$/,
  );
});

test("where nothing stands out, it says what it looked for", () => {
  const answer = {
    start: 0,
    stop: 1,
    has_agent: true,
    looked_for: ["failed tasks", "stragglers"],
    findings: /** @type {any[]} */ ([]),
  };
  assert.equal(
    nothingText(answer),
    "Nothing stands out in this window. It was searched for: failed tasks, stragglers.",
  );
  assert.match(nothingText({ ...answer, findings: [/** @type {any} */ ({})] }), /^Nothing else stands out/);
});

test("notes say what a file has, what the agent would add, and why there is no newer answer", () => {
  assert.equal(noteText(context({ answer: { has_agent: true }, message: "" }, "/x")), "");
  assert.match(
    noteText(context({ answer: { has_agent: false }, message: "" }, "")),
    /whole run, .* Without the agent.* nor which client submitted a task/,
  );
  assert.equal(noteText(context({ answer: { has_agent: true }, message: "too many" }, "/x")), "too many");
});
