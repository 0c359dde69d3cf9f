// What the wheel does on a time axis, and when the hint is due that it zooms.

import assert from "node:assert/strict";
import { test } from "node:test";
import { wheelMove } from "../../../frontend/timeline/controls/wheel.js";
import { WheelHint } from "../../../frontend/timeline/controls/wheel_hint.js";

/** @param {Partial<WheelEvent>} turn */
function move(turn) {
  return wheelMove({
    deltaX: 0,
    deltaY: 0,
    deltaMode: 0,
    ctrlKey: false,
    metaKey: false,
    shiftKey: false,
    ...turn,
  });
}

test("without a key the wheel scrolls the page", () => {
  assert.deepEqual(move({ deltaY: 120 }), { does: "scroll" });
});

test("with Ctrl or ⌘ it zooms in and out", () => {
  for (const key of ["ctrlKey", "metaKey"]) {
    const [into, out] = [move({ [key]: true, deltaY: -120 }), move({ [key]: true, deltaY: 120 })];
    assert.ok(into.does === "zoom" && into.factor < 0.9 && into.factor > 0.6);
    assert.ok(out.does === "zoom" && Math.abs(out.factor * into.factor - 1) < 1e-9);
  }
});

test("a pinch of a few pixels zooms a little, and a notch as far whether its driver counts lines or pixels", () => {
  const pinch = move({ ctrlKey: true, deltaY: 4 });
  assert.ok(pinch.does === "zoom" && pinch.factor > 1.01 && pinch.factor < 1.05);
  assert.deepEqual(move({ ctrlKey: true, deltaY: 120 }), move({ ctrlKey: true, deltaY: 6, deltaMode: 1 }));
});

test("with Shift, and sideways, it moves the window", () => {
  assert.deepEqual(move({ shiftKey: true, deltaY: 100 }), { does: "pan", pixels: 100 });
  assert.deepEqual(move({ shiftKey: true, deltaX: -3, deltaMode: 1 }), { does: "pan", pixels: -48 });
  assert.deepEqual(move({ deltaX: 30, deltaY: 4 }), { does: "pan", pixels: 30 });
});

test("the hint is due once, when the wheel begins to turn over a chart", () => {
  const hint = new WheelHint();
  const scroll = move({ deltaY: 120 });
  assert.equal(hint.isDue(move({ deltaX: 10 }), 0), false);
  assert.equal(hint.isDue(scroll, 100), false, "it goes on");
  assert.equal(hint.isDue(scroll, 2000), true);
  assert.equal(hint.isDue(scroll, 9000), false);
});

test("who zooms with the wheel needs no hint", () => {
  const hint = new WheelHint();
  assert.equal(hint.isDue(move({ ctrlKey: true, deltaY: 120 }), 0), false);
  assert.equal(hint.isDue(move({ deltaY: 120 }), 5000), false);
});
