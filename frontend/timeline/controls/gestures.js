// Mouse and touch on the timeline.

import { wheelMove } from "./wheel.js";
import { WheelHint } from "./wheel_hint.js";

/** @typedef {import("../timeline.js").Timeline} Timeline */
/** @typedef {import("../selection.js").Selection} Selection */
/** @typedef {{left: number, width: number}} Plot the part of an element that is the window, in its own px */

const DRAG_THRESHOLD = 4; // px

const hint = new WheelHint();

/**
 * Wheel, drag, double click and pinch on an element whose plot shows the window.
 * @param {HTMLElement} element
 * @param {Timeline} timeline
 * @param {Selection} selection
 * @param {() => Plot} plot
 */
export function attachPointer(element, timeline, selection, plot) {
  const positionOf = (/** @type {MouseEvent} */ event) =>
    event.clientX - element.getBoundingClientRect().left;
  const timeAt = (/** @type {number} */ x) => {
    const { left, width } = plot();
    return timeline.start + ((x - left) / width) * timeline.length;
  };
  const isInside = (/** @type {number} */ x) => x >= plot().left && x <= plot().left + plot().width;

  element.addEventListener(
    "wheel",
    (event) => {
      const x = positionOf(event);
      if (!isInside(x)) return;
      const move = wheelMove(event);
      hint.follow(move, event);
      if (move.does === "scroll") return;
      event.preventDefault();
      if (move.does === "zoom") timeline.zoom(move.factor, timeAt(x));
      else timeline.pan((move.pixels / plot().width) * timeline.length);
    },
    { passive: false },
  );

  /** @type {Map<number, number>} x by pointer */
  const pointers = new Map();
  let dragged = false;
  let origin = 0;

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !isInside(positionOf(event))) return;
    pointers.set(event.pointerId, positionOf(event));
    if (pointers.size === 1) {
      dragged = false;
      origin = positionOf(event);
    } else {
      dragged = true;
    }
  });
  element.addEventListener("pointermove", (event) => {
    const x = positionOf(event);
    selection.setHover(isInside(x) ? timeAt(x) : null);
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    if (!dragged && Math.abs(x - origin) < DRAG_THRESHOLD) return;
    if (!dragged) element.setPointerCapture(event.pointerId);
    dragged = true;
    if (pointers.size === 1) timeline.pan(((before - x) / plot().width) * timeline.length);
    else if (pointers.size === 2) pinch(timeline, pointers, event.pointerId, x, timeAt);
    pointers.set(event.pointerId, x);
  });
  const release = (/** @type {PointerEvent} */ event) => pointers.delete(event.pointerId);
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => selection.setHover(null));

  // a click that ends a drag is none; a chart that takes the click for itself prevents the default
  element.addEventListener("click", (event) => dragged && event.stopPropagation(), { capture: true });
  element.addEventListener("click", (event) => {
    const x = positionOf(event);
    if (!event.defaultPrevented && isInside(x)) timeline.setPlayhead(timeAt(x));
  });
  element.addEventListener("dblclick", (event) => {
    const x = positionOf(event);
    if (isInside(x)) timeline.zoom(event.shiftKey ? 2 : 0.5, timeAt(x));
  });
}

/**
 * @param {Timeline} timeline
 * @param {Map<number, number>} pointers x by pointer, before the move
 * @param {number} moved the pointer that moved
 * @param {number} x where it is now
 * @param {(x: number) => number} timeAt
 */
function pinch(timeline, pointers, moved, x, timeAt) {
  const [one, other] = [...pointers.entries()];
  const fixed = one[0] === moved ? other[1] : one[1];
  const before = Math.max(Math.abs((pointers.get(moved) ?? x) - fixed), 8);
  const now = Math.max(Math.abs(x - fixed), 8);
  timeline.zoom(before / now, timeAt(fixed));
}
