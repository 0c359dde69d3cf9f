// The memory of runs since their starts: a line for each, on one axis.

import { formatBytes, formatDuration } from "../../formatting.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { Surface } from "../drawing/surface.js";
import { Tooltip } from "../drawing/tooltip.js";
import { drawAxis, ticks, units } from "../series/value_axis.js";

/**
 * `values` are of bins of `width` seconds; null: not known.
 * @typedef {{label: string, color: string, values: (number|null)[]}} Line
 * @typedef {{width: number, lines: Line[]}} Memory
 */

const [TOP, BOTTOM] = [12, 8]; // px

export class MemoryLines {
  /** @type {Memory} */
  #memory = { width: 1, lines: [] };
  #surface;
  #tooltip;
  #height;
  #highest = 1;
  #window = { start: 0, stop: 1, width: 1 };

  /**
   * @param {HTMLElement} element
   * @param {number} height px
   */
  constructor(element, height) {
    this.#height = height;
    this.#surface = new Surface(element, "");
    this.#tooltip = new Tooltip(element);
    element.addEventListener("pointermove", (event) => this.#hover(event));
    element.addEventListener("pointerleave", () => this.#tooltip.hide());
  }

  /**
   * To be drawn from now on.
   * @param {Memory} memory
   */
  show(memory) {
    this.#memory = memory;
    this.#tooltip.hide();
    const peaks = memory.lines.map(({ label, values }) => `${formatBytes(peakOf(values))} in ${label}`);
    this.#surface.canvas.setAttribute("aria-label", `Memory: at most ${peaks.join(", ")}`);
  }

  /** @param {number} seconds */
  #x(seconds) {
    const { start, stop, width } = this.#window;
    return leftGutter() + ((seconds - start) / (stop - start)) * width;
  }

  /** @param {number} value */
  #y(value) {
    return TOP + (1 - value / this.#highest) * (this.#height - TOP - BOTTOM);
  }

  /**
   * @param {number} start seconds
   * @param {number} stop
   * @param {number} width px of the plot
   */
  draw(start, stop, width) {
    this.#window = { start, stop, width };
    const left = leftGutter();
    this.#surface.clear(left + width + RIGHT_GUTTER, this.#height);
    const { context, canvas } = this.#surface;
    const marks = ticks(Math.max(0, ...this.#memory.lines.map(({ values }) => peakOf(values))), units.bytes);
    this.#highest = marks[marks.length - 1];
    context.lineWidth = 1;
    drawAxis(context, marks, units.bytes, (value) => this.#y(value), [left, left + width], TOP);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, this.#height);
    context.clip();
    for (const line of this.#memory.lines) this.#line(line);
    context.restore();
    canvas.dataset.lines = String(this.#memory.lines.length);
  }

  /** @param {Line} line */
  #line({ values, color }) {
    const { context } = this.#surface;
    const { width } = this.#memory;
    context.strokeStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    let isOpen = false;
    values.forEach((value, bin) => {
      if (value !== null) {
        // a bin alone is seen, too
        if (!isOpen) context.moveTo(this.#x(bin * width), this.#y(value));
        context.lineTo(this.#x((bin + 0.5) * width), this.#y(value));
      }
      isOpen = value !== null;
    });
    context.stroke();
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const box = this.#surface.canvas.getBoundingClientRect();
    const { start, stop, width } = this.#window;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const seconds = start + ((x - leftGutter()) / width) * (stop - start);
    const bin = Math.floor(seconds / this.#memory.width);
    const known = this.#memory.lines.flatMap(({ label, color, values }) => {
      const value = values[bin] ?? null;
      return value === null
        ? []
        : [/** @type {[string, string, string]} */ ([label, formatBytes(Math.round(value)), color])];
    });
    if (x < leftGutter() || !known.length) this.#tooltip.hide();
    else this.#tooltip.show(x, y, `${formatDuration(seconds)} after the start`, known);
  }
}

/** @param {(number|null)[]} values */
function peakOf(values) {
  return values.reduce((/** @type {number} */ most, value) => Math.max(most, value ?? 0), 0);
}
