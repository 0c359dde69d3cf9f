// Mouse, touch and keyboard on the timeline.

import { wheelMove } from "./wheel.js";
import { WheelHint } from "./wheel_hint.js";

/** @typedef {import("../timeline.js").Timeline} Timeline */
/** @typedef {import("../marks/events.js").Events} Events */
/** @typedef {import("../selection.js").Selection} Selection */
/** @typedef {{left: number, width: number}} Plot the part of an element that is the window, in its own px */

const DRAG_THRESHOLD = 4; // px
const KEY_ZOOM = 2.5; // times per second, while held
const KEY_PAN = 0.8; // windows per second, while held

/** @type {[string, string][]} what `?` shows */
export const KEYS = [
  ["W / S, ↑ / ↓, Ctrl or ⌘ + wheel, pinch", "zoom in and out"],
  ["A / D, ← / →, drag, Shift + wheel", "move the window"],
  ["wheel", "scroll the page; over the names of workers, the rows of the task stream"],
  ["Alt + wheel", "scroll the rows of the task stream"],
  ["Space", "play and pause"],
  [", / .", "step back and forward (with Shift: one second)"],
  ["P / N", "previous and next event or note"],
  ["[ / ]", "previous and next piece of the critical path, on the tab Why?"],
  ["L", "live"],
  ["F", "show everything"],
  ["Home / End", "go to the beginning and the end"],
  ["click", "move the playhead, or select a task"],
  ["double click", "zoom in"],
  ["Esc", "clear the selection"],
  ["?", "these keys"],
];

/** @type {[string, string][]} and those for users who may write */
export const WRITING_KEYS = [
  ["R", "save the window as a run"],
  ["M", "write a note"],
];

/** @type {[string, string][]} and those of pages with a search */
export const SEARCH_KEYS = [["/", "search everything"]];

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

/** What the keys do; `advance` moves on while they are held. */
export class Keys {
  /** @type {Set<string>} */
  #held = new Set();
  #timeline;
  #events;
  #selection;
  #dialogs;

  /**
   * @param {Timeline} timeline
   * @param {Events} events
   * @param {Selection} selection
   * @param {Record<string, () => void>} dialogs what opens each, by its key
   */
  constructor(timeline, events, selection, dialogs) {
    this.#timeline = timeline;
    this.#events = events;
    this.#selection = selection;
    this.#dialogs = dialogs;
  }

  /**
   * @param {Document} document
   * @param {() => void} onMotion called when a key is held that `advance` moves by
   */
  attach(document, onMotion) {
    document.addEventListener("keydown", (event) => {
      this.#down(event);
      if (this.active) onMotion();
    });
    document.addEventListener("keyup", (event) => this.#held.delete(motionOf(event.key)));
    window.addEventListener("blur", () => this.#held.clear());
  }

  get active() {
    return this.#held.size > 0;
  }

  /** @param {number} elapsed seconds since the call before */
  advance(elapsed) {
    const timeline = this.#timeline;
    const anchor = this.#selection.hover ?? timeline.playhead;
    const factor = KEY_ZOOM ** elapsed;
    if (this.#held.has("in")) timeline.zoom(1 / factor, anchor);
    if (this.#held.has("out")) timeline.zoom(factor, anchor);
    if (this.#held.has("left")) timeline.pan(-KEY_PAN * elapsed * timeline.length);
    if (this.#held.has("right")) timeline.pan(KEY_PAN * elapsed * timeline.length);
  }

  /** @param {KeyboardEvent} event */
  #down(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
      return;
    if (document.querySelector("dialog[open]")) return;
    const motion = motionOf(event.key);
    if (motion) {
      if (!event.repeat) this.#held.add(motion);
      event.preventDefault();
    } else if (this.#press(event)) {
      event.preventDefault();
    }
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the key means anything
   */
  #press(event) {
    const timeline = this.#timeline;
    const step = event.shiftKey ? 1 : timeline.length / timeline.width;
    /** @type {Record<string, () => void>} */
    const actions = {
      " ": () => timeline.toggle(),
      l: () => timeline.goLive(),
      f: () => timeline.fit(),
      n: () => jumpTo(timeline, this.#events.after(timeline.playhead)),
      p: () => jumpTo(timeline, this.#events.before(timeline.playhead)),
      ",": () => timeline.step(-step),
      "<": () => timeline.step(-step),
      ".": () => timeline.step(step),
      ">": () => timeline.step(step),
      home: () => timeline.jump(timeline.first),
      end: () => timeline.jump(timeline.end),
      escape: () => this.#selection.clear(),
      ...this.#dialogs,
    };
    const action = actions[event.key.toLowerCase()];
    if (!action || (event.key === " " && isPressedBySpace(event.target))) return false;
    action();
    return true;
  }
}

/**
 * @param {Timeline} timeline
 * @param {{time: number}|null} event
 */
export function jumpTo(timeline, event) {
  if (event) timeline.jump(event.time);
}

/**
 * @param {string} key
 * @returns {string} "" for a key that isn't held
 */
function motionOf(key) {
  /** @type {Record<string, string>} */
  const motions = {
    w: "in",
    arrowup: "in",
    s: "out",
    arrowdown: "out",
    a: "left",
    arrowleft: "left",
    d: "right",
    arrowright: "right",
  };
  return motions[key.toLowerCase()] ?? "";
}

/** @param {EventTarget|null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** @param {EventTarget|null} target; whether the space bar presses it, instead of playing */
function isPressedBySpace(target) {
  return target instanceof HTMLElement && ["BUTTON", "SUMMARY"].includes(target.tagName);
}
