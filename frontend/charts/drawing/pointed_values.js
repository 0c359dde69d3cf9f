// The values of a chart at the instant under the mouse: a tooltip where the mouse is on this chart, a box beside the line of that
// instant where it is on another one.

import { formatTime } from "../../timeline/times.js";
import { Readout } from "./readout.js";
import { Tooltip } from "./tooltip.js";

/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./readout.js").Value} Value */

export class PointedValues {
  #parent;
  #tooltip;
  #readout;
  /** @type {number|null} px of the page; null: the mouse is elsewhere */
  #mouse = null;

  /** @param {HTMLElement} parent positioned */
  constructor(parent) {
    this.#parent = parent;
    this.#tooltip = new Tooltip(parent);
    this.#readout = new Readout(parent);
    parent.addEventListener("pointermove", (event) => (this.#mouse = event.clientY));
    parent.addEventListener("pointerleave", () => {
      this.#mouse = null;
      this.#tooltip.hide();
    });
  }

  /**
   * @param {View} view
   * @param {(time: number) => number} x px of a time
   * @param {number} top px of the box
   * @param {(time: number) => Value[]} valuesAt the most important first
   * @param {{title?: (time: number) => string, inTooltip?: (values: Value[], time: number) => Value[],
   *   inBox?: (values: Value[]) => Value[]}} [options] what else than all values they have
   */
  show(
    view,
    x,
    top,
    valuesAt,
    {
      title = (time) => formatTime(time, 1),
      inTooltip = (values) => values,
      inBox = (values) => values,
    } = {},
  ) {
    const at = view.hover;
    const values = at === null || at < view.start || at > view.stop ? [] : valuesAt(at);
    const isHere = this.#mouse !== null;
    if (!isHere || !values.length) this.#tooltip.hide();
    if (isHere || !values.length) this.#readout.hide();
    if (at === null || !values.length) return;
    if (this.#mouse === null) {
      const isLeft = at - view.start > (view.stop - view.start) / 2;
      return this.#readout.show(x(at), top, isLeft, inBox(values));
    }
    this.#tooltip.show(
      x(at),
      this.#mouse - this.#parent.getBoundingClientRect().top,
      title(at),
      inTooltip(values, at),
    );
  }
}
