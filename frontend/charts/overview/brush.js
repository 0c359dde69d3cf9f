// The window and the playhead on the overview. Its edges and its middle can be dragged; the keyboard uses sliders.

import { wheelMove } from "../../timeline/controls/wheel.js";
import { formatTime, formatUtc } from "../../timeline/times.js";

/** @typedef {import("../../timeline/timeline.js").Timeline} Timeline */
/** @typedef {import("../../timeline/selection.js").Selection} Selection */
/** @typedef {"start"|"stop"|"middle"|"playhead"} Part */

const KEY_STEP = 0.01; // of the overview
const PAGE_STEP = 0.1;
const STILL = 3; // px: a pointer that moved less has clicked
/** @type {Record<Part, string>} */
const LABELS = {
  start: "Beginning of the window",
  stop: "End of the window",
  middle: "The window",
  playhead: "Playhead",
};

export class Brush {
  #element;
  #timeline;
  #selection;
  #hover = document.createElement("div");
  #left = 0;
  #width = 1;
  #start = 0;
  #stop = 1;
  /** @type {Record<Part, HTMLElement>} */
  #parts;
  /** @type {{part: Part, time: number, start: number, stop: number, from: number, isClick: boolean}|null} */
  #drag = null;

  /**
   * @param {HTMLElement} element positioned
   * @param {Timeline} timeline
   * @param {Selection} selection
   */
  constructor(element, timeline, selection) {
    this.#element = element;
    this.#timeline = timeline;
    this.#selection = selection;
    this.#hover.className = "brush-hover";
    this.#hover.hidden = true;
    this.#parts = {
      middle: this.#part("middle"),
      start: this.#part("start"),
      stop: this.#part("stop"),
      playhead: this.#part("playhead"),
    };
    element.append(...Object.values(this.#parts), this.#hover);
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerleave", () => selection.setHover(null));
    element.addEventListener("pointerup", () => this.#up());
    element.addEventListener("pointercancel", () => (this.#drag = null));
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /**
   * @param {number} left where the overview's time begins, in px
   * @param {number} width px
   * @param {number} start time at the left
   * @param {number} stop time at the right
   */
  draw(left, width, start, stop) {
    this.#left = left;
    this.#width = width;
    this.#start = start;
    this.#stop = stop;
    const timeline = this.#timeline;
    const [from, to] = [this.#x(timeline.start), this.#x(timeline.stop)];
    this.#parts.middle.style.left = `${from}px`;
    this.#parts.middle.style.width = `${Math.max(to - from, 2)}px`;
    this.#parts.start.style.left = `${from}px`;
    this.#parts.stop.style.left = `${Math.max(to, from + 2)}px`;
    this.#parts.playhead.style.left = `${this.#x(timeline.playhead)}px`;
    const times = {
      start: timeline.start,
      stop: timeline.stop,
      middle: timeline.start,
      playhead: timeline.playhead,
    };
    for (const [part, time] of Object.entries(times))
      this.#describe(this.#parts[/** @type {Part} */ (part)], time);
  }

  /** @param {number|null} time the instant under the mouse, which may be on a chart */
  point(time) {
    this.#hover.hidden = time === null || time < this.#start || time > this.#stop;
    if (time !== null) this.#hover.style.transform = `translateX(${Math.round(this.#x(time))}px)`;
  }

  /** @param {Part} part */
  #part(part) {
    const element = document.createElement("div");
    element.className = `brush-${part}`;
    element.dataset.part = part;
    element.tabIndex = 0;
    element.setAttribute("role", "slider");
    element.setAttribute("aria-label", LABELS[part]);
    element.addEventListener("keydown", (event) => this.#key(event, part));
    return element;
  }

  /**
   * @param {HTMLElement} element
   * @param {number} time
   */
  #describe(element, time) {
    element.setAttribute("aria-valuemin", String(Math.round(this.#start)));
    element.setAttribute("aria-valuemax", String(Math.round(this.#stop)));
    element.setAttribute("aria-valuenow", String(Math.round(time)));
    element.setAttribute("aria-valuetext", formatTime(time, 1));
    element.title = formatUtc(time);
  }

  /** @param {number} time; in px, inside of the overview */
  #x(time) {
    const share = (time - this.#start) / (this.#stop - this.#start);
    return this.#left + Math.min(Math.max(share, 0), 1) * this.#width;
  }

  /** @param {MouseEvent} event */
  #time(event) {
    const x = event.clientX - this.#element.getBoundingClientRect().left - this.#left;
    return this.#start + (x / this.#width) * (this.#stop - this.#start);
  }

  /** @param {PointerEvent} event; on the background: moves the window and the playhead there */
  #down(event) {
    if (event.button !== 0) return;
    const timeline = this.#timeline;
    const time = this.#time(event);
    const target = event.target instanceof HTMLElement ? event.target.dataset.part : undefined;
    let part = /** @type {Part|undefined} */ (target);
    if (!part) {
      timeline.setWindow(time - timeline.length / 2, time + timeline.length / 2);
      timeline.setPlayhead(time);
      part = "middle";
    }
    this.#drag = {
      part,
      time,
      start: timeline.start,
      stop: timeline.stop,
      from: event.clientX,
      isClick: true,
    };
    this.#element.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const x = event.clientX - this.#element.getBoundingClientRect().left - this.#left;
    this.#selection.setHover(x >= 0 && x <= this.#width ? this.#time(event) : null);
    if (!this.#drag) return;
    const { part, time, start, stop } = this.#drag;
    const now = this.#time(event);
    const moved = now - time;
    if (Math.abs(event.clientX - this.#drag.from) >= STILL) this.#drag.isClick = false;
    if (this.#drag.isClick) return;
    const timeline = this.#timeline;
    if (part === "middle") timeline.setWindow(start + moved, stop + moved);
    else if (part === "start" && start + moved < stop) timeline.setWindow(start + moved, stop);
    else if (part === "stop" && stop + moved > start) timeline.setWindow(start, stop + moved);
    else if (part === "playhead") timeline.setPlayhead(now);
  }

  /** A click in the window moves the playhead there; one beside it has moved both. */
  #up() {
    if (this.#drag?.isClick && this.#drag.part === "middle") this.#timeline.setPlayhead(this.#drag.time);
    this.#drag = null;
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    const move = wheelMove(event);
    if (move.does === "scroll") return;
    event.preventDefault();
    if (move.does === "zoom") this.#timeline.zoom(move.factor, this.#time(event));
    else this.#timeline.pan((move.pixels / this.#width) * (this.#stop - this.#start));
  }

  /**
   * @param {KeyboardEvent} event
   * @param {Part} part
   */
  #key(event, part) {
    const whole = this.#stop - this.#start;
    /** @type {Record<string, number>} */
    const moves = {
      ArrowLeft: -KEY_STEP,
      ArrowDown: -KEY_STEP,
      ArrowRight: KEY_STEP,
      ArrowUp: KEY_STEP,
      PageDown: -PAGE_STEP,
      PageUp: PAGE_STEP,
    };
    const move = moves[event.key];
    if (move === undefined) return;
    const seconds = move * whole;
    const timeline = this.#timeline;
    if (part === "middle") timeline.pan(seconds);
    else if (part === "playhead") timeline.step(seconds);
    else if (part === "start")
      timeline.setWindow(Math.min(timeline.start + seconds, timeline.stop), timeline.stop);
    else timeline.setWindow(timeline.start, Math.max(timeline.stop + seconds, timeline.start));
    event.preventDefault();
    event.stopPropagation();
  }
}
