// A button at the edge of the time axis where the playhead is out of the window: it leads back to it.

import { element } from "../../element.js";
import { formatTime } from "../../timeline/times.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";

/** @typedef {import("../../timeline/timeline.js").Timeline} Timeline */

export class PlayheadEdge {
  #button = element("button", "playhead-edge");
  #timeline;

  /**
   * @param {HTMLElement} axis positioned
   * @param {Timeline} timeline
   */
  constructor(axis, timeline) {
    this.#timeline = timeline;
    this.#button.type = "button";
    this.#button.hidden = true;
    this.#button.addEventListener("click", (event) => {
      event.stopPropagation(); // on the axis, a click moves the playhead
      timeline.reveal();
    });
    axis.append(this.#button);
  }

  /** @returns {[number, number]|null} where the button is, in px of the axis */
  draw() {
    const { start, stop, playhead } = this.#timeline;
    const side = playhead < start ? "left" : playhead > stop ? "right" : null;
    this.#button.hidden = side === null;
    if (side === null) return null;
    const time = formatTime(playhead, 0);
    const text = side === "left" ? `◀ ${time}` : `${time} ▶`;
    if (this.#button.textContent !== text) this.#button.textContent = text;
    this.#button.title = `The playhead is at ${time}: show it`;
    this.#button.setAttribute("aria-label", this.#button.title);
    this.#button.style.left = side === "left" ? `${leftGutter()}px` : "auto";
    this.#button.style.right = side === "right" ? `${RIGHT_GUTTER}px` : "auto";
    const { offsetLeft, offsetWidth } = this.#button;
    return [offsetLeft, offsetLeft + offsetWidth];
  }
}
