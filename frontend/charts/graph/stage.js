// Where a graph is looked at: a canvas that is zoomed and panned by mouse, touch and keyboard.

import { element } from "../../element.js";
import { wheelMove } from "../../timeline/controls/wheel.js";
import { Surface } from "../drawing/surface.js";
import { Viewport } from "./viewport.js";

const DRAG_THRESHOLD = 4; // px
const STEP = 1.4; // of a zoom by a key or a button
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/**
 * `point`: the mouse is at a place of the screen, null: it left; `choose`: a click; `go`: an arrow key; `enter`: Enter.
 * @typedef {{paint: () => void, fit: () => void, point: (place: [number, number]|null) => void,
 *   choose: (place: [number, number]) => void, go: (key: string) => void, enter: () => void}} Actions
 */

export class Stage {
  element = element("div", "graph-stage");
  buttons = element("span", "graph-zoom");
  viewport = new Viewport();
  surface;
  #actions;
  /** @type {Map<number, [number, number]>} */
  #pointers = new Map();
  #isDragged = false;
  /** @type {[number, number]} */
  #origin = [0, 0];

  /** @param {string} title @param {Actions} actions */
  constructor(title, actions) {
    this.#actions = actions;
    this.surface = new Surface(this.element, title);
    const stage = this.element;
    stage.tabIndex = 0;
    stage.setAttribute("role", "application");
    stage.setAttribute(
      "aria-label",
      `${title}: ← and → go along edges, ↑ and ↓ to the nodes above and below, Enter selects, + and − zoom, 0 shows everything`,
    );
    stage.addEventListener("wheel", (event) => this.#turn(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.#press(event));
    stage.addEventListener("pointermove", (event) => this.#move(event));
    for (const kind of /** @type {const} */ (["pointerup", "pointercancel"])) {
      stage.addEventListener(kind, (event) => this.#pointers.delete(event.pointerId));
    }
    stage.addEventListener("pointerleave", () => this.#actions.point(null));
    stage.addEventListener("click", (event) => this.#isDragged || this.#actions.choose(this.#placeOf(event)));
    stage.addEventListener("dblclick", (event) => this.#zoom(2, ...this.#placeOf(event)));
    stage.addEventListener("keydown", (event) => this.#key(event));
    this.buttons.append(
      this.#button("−", "Zoom out", () => this.#zoom(1 / STEP)),
      this.#button("+", "Zoom in", () => this.#zoom(STEP)),
      this.#button("whole graph", "Show the whole graph", () => this.#actions.fit()),
    );
  }

  /** @param {string} text @param {string} label @param {() => void} act */
  #button(text, label, act) {
    const button = element("button", "", text);
    button.type = "button";
    button.title = label;
    if (text.length === 1) button.setAttribute("aria-label", label);
    button.addEventListener("click", act);
    return button;
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] */
  #zoom(factor, x, y) {
    this.viewport.zoom(factor, x, y);
    this.#actions.paint();
  }

  /** @param {WheelEvent} event */
  #turn(event) {
    const move = wheelMove(event);
    if (move.does === "scroll") return;
    event.preventDefault();
    if (move.does === "zoom") return this.#zoom(1 / move.factor, ...this.#placeOf(event));
    this.viewport.pan(-move.pixels, 0);
    this.#actions.paint();
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (event.button !== 0) return;
    const place = this.#placeOf(event);
    this.#pointers.set(event.pointerId, place);
    this.#isDragged = this.#pointers.size > 1;
    if (this.#pointers.size === 1) this.#origin = place;
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const place = this.#placeOf(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before) return this.#actions.point(place);
    if (!this.#isDragged && distance(place, this.#origin) < DRAG_THRESHOLD) return;
    if (!this.#isDragged) this.element.setPointerCapture(event.pointerId);
    this.#isDragged = true;
    this.#pointers.set(event.pointerId, place);
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other)
      this.#zoom(Math.max(distance(place, other), 8) / Math.max(distance(before, other), 8), ...other);
    else {
      this.viewport.pan(place[0] - before[0], place[1] - before[1]);
      this.#actions.paint();
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (ARROWS.includes(event.key)) this.#actions.go(event.key);
    else if (event.key === "Enter") this.#actions.enter();
    else if (event.key === "+" || event.key === "=") this.#zoom(STEP);
    else if (event.key === "-") this.#zoom(1 / STEP);
    else if (event.key === "0") this.#actions.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {MouseEvent} event @returns {[number, number]} px of the canvas */
  #placeOf(event) {
    const { left, top } = this.surface.canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }
}

/** @param {[number, number]} one @param {[number, number]} other */
function distance(one, other) {
  return Math.hypot(one[0] - other[0], one[1] - other[1]);
}
