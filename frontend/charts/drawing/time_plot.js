// A plot of values over the timeline's window, with a legend, a value axis, gaps of the recording, and the values under the mouse.

import { element } from "../../element.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { Legend } from "../series/legend.js";
import { drawAxis, ticks } from "../series/value_axis.js";
import { drawGaps } from "./gaps.js";
import { PointedValues } from "./pointed_values.js";
import { Surface } from "./surface.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../series/value_axis.js").Unit} Unit */
/** @typedef {import("./readout.js").Value} Value */
/** @typedef {Parameters<PointedValues["show"]>[4]} PointedOptions */

const [TOP, BOTTOM] = [6, 4]; // px

export class TimePlot {
  #parent;
  #context;
  #title;
  #height;
  #legend;
  #surface;
  #note = element("p", "chart-empty plot-note");
  #pointed;
  #highest = 1;
  /** @type {View|null} */
  #view = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   * @param {string} title
   * @param {number} height px
   */
  constructor(parent, context, title, height) {
    this.#parent = parent;
    this.#context = context;
    this.#title = title;
    this.#height = height;
    this.#legend = new Legend(parent, () => undefined);
    this.#surface = new Surface(parent, title);
    parent.append(this.#note);
    this.#pointed = new PointedValues(parent);
  }

  /**
   * @param {View} view
   * @param {{label: string, color: string}[]} shown in the legend
   * @param {string} note below the plot, or in its place where there are no values
   * @param {boolean} hasValues
   */
  begin(view, shown, note, hasValues) {
    this.#view = view;
    this.#parent.classList.toggle("has-no-series", !hasValues);
    this.#note.textContent = note;
    this.#note.hidden = !note;
    this.#legend.show(
      shown.map(({ label, color }) => ({ label, color, series: [], slot: null })),
      null,
    );
    this.#surface.clear(leftGutter() + view.width + RIGHT_GUTTER, this.#height);
  }

  /**
   * To be called after `begin`, if there are values.
   * @param {number} peak the largest value
   * @param {Unit} unit
   * @param {(context: CanvasRenderingContext2D) => void} draw is clipped to the plot
   */
  paint(peak, unit, draw) {
    const { start, stop, width } = this.#shown;
    const left = leftGutter();
    const range = /** @type {[number, number]} */ ([left, left + width]);
    const { context } = this.#surface;
    const marks = ticks(peak, unit);
    this.#highest = marks[marks.length - 1];
    drawAxis(context, marks, unit, (value) => this.y(value), range, TOP);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, this.#height);
    context.clip();
    draw(context);
    const { events, timeline } = this.#context;
    drawGaps(
      context,
      events.gapsBetween(start, stop),
      (time) => this.x(time),
      range,
      0,
      this.#height,
      timeline.end,
    );
    context.restore();
  }

  /**
   * Describes the values at the playhead for those who can't see them.
   * @param {Value[]} values
   * @param {string} [what] they are
   */
  describe(values, what = "") {
    const texts = values.map(([label, value]) => `${label} ${value}`);
    this.#surface.canvas.setAttribute(
      "aria-label",
      `${this.#title} at the playhead${what}: ${texts.join(", ") || "nothing"}`,
    );
  }

  /**
   * Shows the values at the instant under the mouse, which may be on another chart.
   * @param {(time: number) => Value[]} valuesAt
   * @param {PointedOptions} [options]
   */
  point(valuesAt, options) {
    this.#pointed.show(
      this.#shown,
      (time) => this.x(time),
      this.#surface.canvas.offsetTop,
      valuesAt,
      options,
    );
  }

  /** @param {number} time @returns {number} px */
  x(time) {
    const { start, stop, width } = this.#shown;
    return leftGutter() + ((time - start) / (stop - start)) * width;
  }

  /** @param {number} value @returns {number} px */
  y(value) {
    return this.#height - BOTTOM - (value / this.#highest) * (this.#height - TOP - BOTTOM);
  }

  get #shown() {
    return /** @type {View} */ (this.#view);
  }
}
