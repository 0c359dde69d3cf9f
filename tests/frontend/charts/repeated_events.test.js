// Events that repeat are shown as one.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { placesOf } from "../../../frontend/charts/events/marks.js";
import { messageOf, repeated } from "../../../frontend/charts/events/repeated.js";

/** @param {number} time @param {Record<string, unknown>} [detail] */
function submitted(time, detail = { client: "Client-1", tasks: 1 }) {
  return { time, kind: "graph-updated", worker: null, message: `${detail.client} submitted 1 tasks`, detail };
}

/** @param {number} time @param {string} message @param {number|null} worker */
function other(time, message, worker = null) {
  return { time, kind: "worker-status", worker, message, detail: "{}" };
}

test("tasks that a loop submits one by one are one event, which says how many", () => {
  const events = Array.from({ length: 3000 }, (_, at) => submitted(at));
  const groups = repeated(events);
  assert.equal(groups.length, 1);
  assert.equal(messageOf(groups[0]), "3,000 graphs with 3,000 tasks submitted");
});

test("what happened between two submissions stands between them", () => {
  const groups = repeated([submitted(0), submitted(1), other(2, "paused"), submitted(3)]);
  assert.deepEqual(
    groups.map((group) => group.length),
    [2, 1, 1],
  );
  assert.equal(messageOf(groups[2]), "Client-1 submitted 1 tasks");
});

test("submissions of several clients say so, and those of a stock cluster have no tasks to sum", () => {
  const clients = ["one", "two", "one"].map((client, at) => submitted(at, { client, tasks: 2 }));
  assert.equal(messageOf(clients), "3 graphs with 6 tasks submitted by 2 clients");
  const stock = [submitted(0, {}), submitted(1, { tasks: "<b>" })];
  assert.equal(messageOf(stock), "2 graphs submitted");
});

test("other events are one where kind, worker and message are the same", () => {
  const groups = repeated([
    other(0, "paused", 1),
    other(1, "paused", 1),
    other(2, "paused", 2),
    other(3, "runs", 2),
  ]);
  assert.deepEqual(
    groups.map((group) => messageOf(group)),
    ["2× paused", "paused", "runs"],
  );
});

test("events that are only counted say how many, with the label of their kind", () => {
  const counted = { ...other(0, ""), count: 40 };
  assert.equal(messageOf([counted], "a worker's status changed"), "40× a worker's status changed");
  assert.equal(messageOf([{ ...submitted(0, {}), count: 40 }, submitted(1, {})]), "41 graphs submitted");
});

test("the detail of a tile is JSON, and what is none is left out", () => {
  const events = ['{"tasks": 4}', "{", "null"].map((detail, time) => ({ ...submitted(time), detail }));
  assert.equal(messageOf(events), "3 graphs with 4 tasks submitted");
});

test("what a loop logs between its submissions neither divides these nor is divided by them", () => {
  const logged = (/** @type {number} */ time, /** @type {string} */ message) => ({
    ...other(time, message),
    kind: "topic",
  });
  const groups = repeated([
    submitted(0),
    logged(1, "a"),
    submitted(2),
    logged(3, "b"),
    submitted(4),
    logged(5, "a"),
  ]);
  assert.deepEqual(groups.map(({ length }) => length), [3, 2, 1]); // prettier-ignore
  assert.equal(messageOf(groups[1]), "2× a");
});

test("marks of submissions in a row are one with a line, and nothing of another kind is left out", () => {
  const events = [
    ...Array.from({ length: 300 }, (_, at) => submitted(at)),
    submitted(400),
    other(410, "paused"),
  ];
  const places = placesOf([...events, other(413, "paused")], (time) => time, [0, 1000], 10);
  assert.deepEqual(places, [
    { kind: "graph-updated", from: 0, to: 299 },
    { kind: "graph-updated", from: 400, to: 400 },
    { kind: "worker-status", from: 410, to: 410 },
    { kind: "worker-status", from: 413, to: 413 },
  ]);
});

test("marks out of sight are not drawn", () => {
  const places = placesOf([submitted(-5), submitted(5), submitted(2000)], (time) => time, [0, 1000], 10);
  assert.deepEqual(places, [{ kind: "graph-updated", from: 5, to: 5 }]);
});
