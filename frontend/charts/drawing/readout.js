// The values of a chart at the instant that the mouse points to on another chart, beside the line of that instant.

import { element } from "../../element.js";

const MOST = 5; // rows
const DISTANCE = 7; // px from the line

/** @typedef {[name: string, value: string, color?: string]} Value */

export class Readout {
  #box = element("div", "readout");
  #shown = "";

  /** @param {HTMLElement} parent positioned */
  constructor(parent) {
    this.#box.hidden = true;
    this.#box.setAttribute("aria-hidden", "true"); // charts describe themselves at the playhead
    parent.append(this.#box);
  }

  /**
   * @param {number} x of the line, in px of the parent
   * @param {number} y of the box
   * @param {boolean} isLeft whether the box is at the left of the line
   * @param {Value[]} values the most important first
   */
  show(x, y, isLeft, values) {
    if (!values.length) return this.hide();
    const content = JSON.stringify(values);
    if (content !== this.#shown) this.#fill(values);
    this.#shown = content;
    this.#box.hidden = false;
    const side = isLeft ? `translateX(-100%) translateX(-${DISTANCE}px)` : `translateX(${DISTANCE}px)`;
    this.#box.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) ${side}`;
  }

  hide() {
    this.#box.hidden = true;
  }

  /** @param {Value[]} values */
  #fill(values) {
    const shown = values.length > MOST ? values.slice(0, MOST - 1) : values;
    const rows = shown.map(([name, value, color]) => {
      const swatch = element("i", "");
      if (color) swatch.style.backgroundColor = color;
      return element("div", "", ...(color ? [swatch] : []), `${name} `, element("b", "", value));
    });
    if (shown.length < values.length)
      rows.push(element("div", "", `and ${values.length - shown.length} more`));
    this.#box.replaceChildren(...rows);
  }
}
