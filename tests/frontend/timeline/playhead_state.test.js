// The state at the playhead: the latest playheadState wins, without flooding the server or starving the page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Server, compute, pass, stopClock, until } from "../clock.js";
import { PlayheadState } from "../../../frontend/timeline/playhead_state.js";

const STILL = { live: false, playing: false };
const PLAYING = { live: false, playing: true };
const LIVE = { live: true, playing: false };

/** @param {import("node:test").TestContext} t */
function open(t) {
  stopClock(t);
  const server = new Server();
  server.answer = (path) => JSON.stringify({ at: at(path) });
  const playheadState = new PlayheadState(/** @type {any} */ (server));
  /** @type {number[]} */
  const shown = [];
  playheadState.addEventListener("change", () => shown.push(playheadState.state?.at ?? NaN));
  return {
    server,
    playheadState,
    shown,
    asked: () => server.requests.map(at),
    state: (at) => /** @type {any} */ ({ at }),
  };
}

/** @param {string} path */
function at(path) {
  return Number(new URL(path, "http://test").searchParams.get("at"));
}

test("of many instants in a moment the last is asked for", async (t) => {
  const { playheadState, asked } = open(t);
  for (let at = 1; at <= 50; at++) playheadState.request(at, STILL);
  await until(() => playheadState.state?.at === 50);
  assert.deepEqual(asked(), [50]);
});

test("no more than four questions a second", async (t) => {
  const { server, playheadState } = open(t);
  for (let n = 0; n < 100; n++) {
    playheadState.request(1000 + n, PLAYING);
    await pass(10);
  }
  assert.equal(server.requests.length, 4);
});

test("a slow server does not starve a page that plays", async (t) => {
  const { server, playheadState, shown } = open(t);
  server.takes = () => 600;
  for (let n = 0; n < 200; n++) {
    playheadState.request(1000 + n, PLAYING);
    await pass(10);
  }
  await until(() => playheadState.state?.at === 1199);
  assert.ok(shown.length >= 3);
  assert.deepEqual(shown, [...shown].sort());
  assert.equal(shown.at(-1), 1199);
});

test("going elsewhere gives up the answer that is on its way", async (t) => {
  const { server, playheadState, shown } = open(t);
  server.takes = (path) => (at(path) === 1 ? 1500 : 0);
  playheadState.request(1, STILL);
  await pass(300);
  playheadState.request(2, STILL);
  await pass(2000);
  assert.deepEqual(shown, [2]);
});

test("an instant that was answered is not asked for again", async (t) => {
  const { playheadState, asked } = open(t);
  for (const time of [1, 2, 1, 2]) {
    playheadState.request(time, STILL);
    await until(() => playheadState.state?.at === time);
  }
  assert.deepEqual(asked(), [1, 2]);
  playheadState.request(1, STILL);
  playheadState.forget();
  await pass(600);
  assert.deepEqual(asked(), [1, 2, 1]);
});

test("a question that failed is asked again", async (t) => {
  const { server, playheadState } = open(t);
  t.mock.method(console, "warn", () => {});
  server.answer = (path) => (server.requests.length > 1 ? JSON.stringify({ at: at(path) }) : 503);
  playheadState.request(7, STILL);
  await until(() => playheadState.state?.at === 7);
});

test("while the socket tells the state it is not asked for", async (t) => {
  const { playheadState, shown, asked, state } = open(t);
  playheadState.receive(state(1));
  for (let n = 0; n < 30; n++) {
    if (n === 15) playheadState.receive(state(2));
    playheadState.request(1 + n / 10, LIVE);
    await pass(50);
  }
  assert.deepEqual(shown, [1, 2]);
  assert.deepEqual(asked(), []);
});

test("who looks at the past is shown that and not the state now", async (t) => {
  const { playheadState, state } = open(t);
  playheadState.request(9, LIVE);
  playheadState.receive(state(9));
  playheadState.request(5, STILL);
  await until(() => playheadState.state?.at === 5);
  playheadState.receive(state(10));
  assert.equal(playheadState.state?.at, 5);
});

test("a live page asks once the socket tells nothing any more", async (t) => {
  const { playheadState, asked, state } = open(t);
  playheadState.receive(state(1));
  await pass(3100);
  playheadState.request(4, LIVE);
  await until(() => playheadState.state?.at === 4);
  assert.deepEqual(asked(), [4]);
});

test("what is due is sent before the page draws and what is not waits", async (t) => {
  const { playheadState, asked } = open(t);
  playheadState.request(1, STILL);
  playheadState.sendDue();
  playheadState.sendDue();
  assert.deepEqual(asked(), [1]);
  compute(300);
  await until(() => playheadState.state?.at === 1);
  playheadState.request(2, STILL);
  await until(() => playheadState.state?.at === 2);
  playheadState.request(3, PLAYING);
  playheadState.sendDue();
  playheadState.request(4, PLAYING);
  await until(() => playheadState.state?.at === 4);
  assert.deepEqual(asked(), [1, 2, 4]);
});

test("the state of another time is not current while its successor is on its way", async (t) => {
  const { server, playheadState } = open(t);
  playheadState.request(1, STILL);
  await until(() => playheadState.state?.at === 1);
  assert.equal(playheadState.isCurrent, true);
  server.takes = () => 500;
  playheadState.request(2, STILL);
  assert.deepEqual([playheadState.state?.at, playheadState.isCurrent], [1, false]);
  await until(() => playheadState.state?.at === 2);
  assert.equal(playheadState.isCurrent, true);
});

test("a live state is current until the socket is silent", async (t) => {
  const { server, playheadState, state } = open(t);
  server.takes = () => 60_000;
  playheadState.request(1, LIVE);
  playheadState.receive(state(1));
  playheadState.request(2, LIVE);
  assert.equal(playheadState.isCurrent, true);
  await pass(3500);
  playheadState.request(5, LIVE);
  assert.equal(playheadState.isCurrent, false);
});

test("an earlier state than was requested is requested again once its time is recorded", async (t) => {
  const { server, playheadState, asked } = open(t);
  let known = 8;
  server.answer = (path) => JSON.stringify({ at: Math.min(at(path), known) });
  playheadState.request(10, STILL);
  await until(() => playheadState.state?.at === 8);
  playheadState.complete(9);
  await pass(500);
  assert.deepEqual(asked(), [10]);
  known = 11;
  playheadState.complete(11);
  await until(() => playheadState.state?.at === 10);
  playheadState.complete(12);
  await pass(500);
  assert.deepEqual(asked(), [10, 10]);
});

test("a live page that is opened takes the first state from its socket", async (t) => {
  const { playheadState, shown, asked, state } = open(t);
  playheadState.expectSocket(performance.now() + 1500);
  playheadState.request(1000, LIVE);
  await pass(1000);
  playheadState.receive(state(1001));
  await pass(1000);
  assert.deepEqual([shown, asked()], [[1001], []]);
});

test("a live page whose socket sends no state asks for it", async (t) => {
  const { playheadState, shown } = open(t);
  playheadState.expectSocket(performance.now() + 1500);
  playheadState.request(1000, LIVE);
  await until(() => shown.length);
  assert.deepEqual(shown, [1000]);
});
