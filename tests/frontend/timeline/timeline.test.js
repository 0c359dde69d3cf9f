// The one timeline: window, playhead, live and pace.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Timeline } from "../../../frontend/timeline/timeline.js";
import { FIRST, INFO } from "../make.js";
import { near } from "../near.js";

const NOW = FIRST + 1000;

function open(changes = {}) {
  const wall = { now: 5000 };
  const timeline = new Timeline(/** @type {any} */ ({ ...INFO, ...changes }), () => wall.now);
  return { timeline, wall };
}

/** Seconds after FIRST. @param {Timeline} timeline */
function places(timeline) {
  return [timeline.start - FIRST, timeline.stop - FIRST, timeline.playhead - FIRST];
}

test("a live cluster opens at now on the scheduler's clock", () => {
  const { timeline } = open();
  assert.equal(timeline.live, true);
  near(places(timeline), [940, 1000, 1000]);
});

test("live moves on with the clock by whole pixels", () => {
  const { timeline, wall } = open();
  timeline.width = 600; // 0.1 s a pixel
  const moved = [0.06, 0.06, 0.06].map((seconds) => {
    wall.now += seconds;
    return timeline.advance(seconds);
  });
  assert.deepEqual(moved, [false, true, false]);
  near(places(timeline).slice(1), [1000.12, 1000.12]);
});

test("a timeline says how long it does not move by itself", () => {
  const { timeline, wall } = open();
  timeline.width = 600; // 0.1 s a pixel
  wall.now += 0.06;
  near([timeline.idleSeconds], [0.04]);
  wall.now += 0.06;
  assert.equal(timeline.idleSeconds, 0);
  timeline.step(-1);
  assert.equal(timeline.idleSeconds, Infinity);
  timeline.toggle();
  assert.equal(timeline.idleSeconds, 0);
});

test("a cluster that ended opens whole with the playhead at its end", () => {
  const { timeline } = open({ ended: NOW });
  const [start, stop, playhead] = places(timeline);
  assert.equal(timeline.live, false);
  assert.ok(start < 0 && 1000 < stop);
  near(playhead, 1000);
});

test("zooming keeps the time under the mouse where it is", () => {
  const { timeline } = open();
  timeline.setWindow(FIRST + 400, FIRST + 500);
  timeline.zoom(0.5, FIRST + 420);
  near(places(timeline).slice(0, 2), [410, 460]);
});

test("zooming while live stays live and keeps now at the end", () => {
  const { timeline } = open();
  timeline.zoom(0.5, timeline.start);
  assert.equal(timeline.live, true);
  near(places(timeline).slice(0, 2), [970, 1000]);
});

for (const [name, act] of /** @type {[string, (timeline: Timeline) => void][]} */ ([
  ["panning", (timeline) => timeline.pan(-10)],
  ["setting the playhead", (timeline) => timeline.setPlayhead(FIRST + 950)],
  ["pausing", (timeline) => timeline.pause()],
  ["showing everything", (timeline) => timeline.fit()],
])) {
  test(`whoever goes elsewhere leaves live: ${name}`, () => {
    const { timeline } = open();
    act(timeline);
    assert.equal(timeline.live, false);
  });
}

test("the window can neither vanish nor lose what is recorded", () => {
  const { timeline } = open();
  timeline.setWindow(FIRST - 1e6, FIRST - 1e6 + 100);
  assert.ok(places(timeline)[1] > 0);
  timeline.setWindow(FIRST + 1e6, FIRST + 1e6 + 100);
  assert.ok(places(timeline)[0] < 1000);
  for (let turn = 0; turn < 100; turn++) timeline.zoom(0.5, FIRST + 500);
  near(timeline.length, 0.01);
  for (let turn = 0; turn < 100; turn++) timeline.zoom(2, FIRST + 500);
  near(timeline.length, 1500);
});

test("playing moves the playhead at the speed chosen", () => {
  const { timeline } = open();
  timeline.setWindow(FIRST, FIRST + 100);
  timeline.setPlayhead(FIRST + 10);
  timeline.setSpeed(16);
  timeline.play();
  timeline.advance(0.1);
  timeline.advance(0.1);
  assert.equal(timeline.playing, true);
  near(places(timeline), [0, 100, 10 + 0.2 * 16]);
});

test("a machine that was suspended goes on where it was", () => {
  const { timeline } = open();
  timeline.setWindow(FIRST, FIRST + 100);
  timeline.setPlayhead(FIRST);
  timeline.play();
  timeline.advance(600);
  near(places(timeline)[2], 2);
});

test("playing keeps its speed when frames are late", () => {
  const { timeline } = open();
  timeline.setWindow(FIRST, FIRST + 100);
  timeline.setPlayhead(FIRST);
  timeline.setSpeed(8);
  timeline.play();
  for (const late of [0.016, 0.7, 1.3, 0.016]) timeline.advance(late);
  near(places(timeline)[2], 2.032 * 8);
});

test("playing waits for data, says so after a moment, and goes on at its speed", () => {
  const { timeline } = open();
  timeline.setPlayhead(FIRST + 10);
  timeline.play();
  const said = [];
  timeline.addEventListener("change", () => said.push(timeline.isWaiting));
  assert.deepEqual([timeline.advance(0.2, false), timeline.isWaiting], [false, false]);
  assert.deepEqual([timeline.advance(0.2, false), timeline.isWaiting], [false, true]);
  timeline.advance(0.2, false);
  assert.deepEqual(said, [true], "the page is drawn once");
  near(places(timeline)[2], 10);
  timeline.advance(0.1, true);
  near(places(timeline)[2], 10.1);
  assert.equal(timeline.isWaiting, false);
});

test("what waited for data doesn't wait when it is paused", () => {
  const { timeline } = open();
  timeline.setPlayhead(FIRST + 10);
  timeline.play();
  timeline.advance(1, false);
  timeline.pause();
  timeline.play();
  assert.equal(timeline.isWaiting, false);
});

test("the window follows a playhead that leaves it", () => {
  const { timeline } = open();
  timeline.setWindow(FIRST, FIRST + 100);
  timeline.setPlayhead(FIRST + 99.9);
  timeline.setSpeed(8);
  timeline.play();
  timeline.advance(0.1);
  near(places(timeline), [0.7, 100.7, 100.7]);
});

test("playing into now becomes live", () => {
  const { timeline } = open();
  timeline.setPlayhead(FIRST + 999.9);
  timeline.setSpeed(64);
  timeline.play();
  timeline.advance(0.1);
  assert.deepEqual([timeline.live, timeline.playing], [true, false]);
  near(places(timeline)[2], 1000);
});

test("playing stops at the end of a cluster that ended and starts over", () => {
  const { timeline } = open({ ended: NOW });
  timeline.setPlayhead(FIRST + 999.9);
  timeline.setSpeed(64);
  timeline.play();
  timeline.advance(0.1);
  assert.deepEqual([timeline.playing, timeline.live], [false, false]);
  near(places(timeline)[2], 1000);
  timeline.play();
  assert.equal(timeline.playing, true);
  near(places(timeline)[2], 0);
});

test("a live page stays at the end when the cluster ends", () => {
  const { timeline } = open();
  timeline.setBounds({ first: FIRST, last: FIRST + 1003, ended: FIRST + 1003 });
  assert.equal(timeline.live, false);
  near(places(timeline).slice(1), [1003, 1003]);
});

test("jumping out of the window brings the window along", () => {
  const { timeline } = open();
  timeline.setWindow(FIRST, FIRST + 100);
  timeline.jump(FIRST + 700);
  near(places(timeline), [650, 750, 700]);
});

test("speeds that there are not are ignored", () => {
  const { timeline } = open();
  timeline.setSpeed(3);
  assert.equal(timeline.speed, 1);
});

test("what changes is told and what does not is not", () => {
  const { timeline } = open();
  let count = 0;
  timeline.addEventListener("change", () => (count += 1));
  timeline.advance(0);
  assert.equal(count, 0);
  timeline.setPlayhead(FIRST + 3);
  assert.equal(count, 1);
});
