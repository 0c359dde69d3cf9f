// The hint that Ctrl + wheel zooms, beside the mouse. It is shown once, to a person whose wheel scrolls the page where it
// may have been meant to zoom: it begins to turn over a chart, and they have not zoomed with it before.

import { element } from "../../element.js";

/** @typedef {import("./wheel.js").WheelMove} WheelMove */

const PAUSE = 600; // ms: a wheel that turns again so soon goes on scrolling
const SHOWN = 3000; // ms
const KEY = "wheel-hint";

export class WheelHint {
  #last = -Infinity;
  #isDone = false;

  /**
   * @param {WheelMove} move of the wheel over a chart
   * @param {number} now ms
   * @returns {boolean} whether the hint has to be shown, now and never again
   */
  isDue(move, now) {
    const begins = now - this.#last > PAUSE;
    this.#last = now;
    if (this.#isDone || move.does === "pan" || (move.does === "scroll" && !begins)) return false;
    this.#isDone = true;
    return !isKnown() && move.does === "scroll";
  }

  /**
   * Shows the hint if it is due.
   * @param {WheelMove} move
   * @param {WheelEvent} event
   */
  follow(move, event) {
    if (!this.isDue(move, performance.now())) return;
    const key = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl";
    const hint = element("div", "wheel-hint", `${key} + wheel zooms`);
    hint.setAttribute("role", "status");
    hint.style.left = `${event.clientX}px`;
    hint.style.top = `${event.clientY}px`;
    document.body.append(hint);
    setTimeout(() => hint.remove(), SHOWN);
  }
}

/** Whether the hint was due in this browser before; from now on it was. */
function isKnown() {
  try {
    const known = localStorage.getItem(KEY) !== null;
    localStorage.setItem(KEY, "shown");
    return known;
  } catch {
    return false; // storage is blocked
  }
}
