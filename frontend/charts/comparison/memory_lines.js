// The memory of two runs since their starts, on one axis.

import { formatBytes, formatDuration } from "../../formatting.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { runColors } from "../drawing/palette.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";
import { ticks, units } from "../series/value_axis.js";

/** @typedef {{width: number, lines: (number|null)[][]}} Memory bins of `width` seconds; null without samples */

const [HEIGHT, TOP, BOTTOM] = [160, 12, 8]; // px
const NARROW = 70; // px: a gutter without room for values
const COLORS = [runColors.a, runColors.b];

export class MemoryLines {
  #memory;
  #surface;
  #tooltip;
  #highest = 1;
  #window = { start: 0, stop: 1, width: 1 };

  /**
   * @param {HTMLElement} element
   * @param {Memory} memory of A and B
   */
  constructor(element, memory) {
    this.#memory = memory;
    this.#surface = new Surface(element, this.#describe());
    this.#tooltip = new Tooltip(element);
    element.addEventListener("pointermove", (event) => this.#hover(event));
    element.addEventListener("pointerleave", () => this.#tooltip.hide());
  }

  #describe() {
    const peaks = this.#memory.lines.map((line) => formatBytes(peakOf(line)));
    return `Memory of all workers: at most ${peaks[0]} in A, ${peaks[1]} in B`;
  }

  /** @param {number} seconds */
  #x(seconds) {
    const { start, stop, width } = this.#window;
    return leftGutter() + ((seconds - start) / (stop - start)) * width;
  }

  /** @param {number} value */
  #y(value) {
    return TOP + (1 - value / this.#highest) * (HEIGHT - TOP - BOTTOM);
  }

  /**
   * @param {number} start seconds
   * @param {number} stop
   * @param {number} width px of the plot
   */
  draw(start, stop, width) {
    this.#window = { start, stop, width };
    const left = leftGutter();
    this.#surface.clear(left + width + RIGHT_GUTTER, HEIGHT);
    const { context } = this.#surface;
    const marks = ticks(Math.max(...this.#memory.lines.map(peakOf)), units.bytes);
    this.#highest = marks[marks.length - 1];
    this.#axis(marks, left, width);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, HEIGHT);
    context.clip();
    this.#memory.lines.forEach((line, at) => this.#line(line, COLORS[at]));
    context.restore();
  }

  /**
   * @param {number[]} marks
   * @param {number} left
   * @param {number} width
   */
  #axis(marks, left, width) {
    const { context } = this.#surface;
    const colors = theme();
    context.font = "11px system-ui, sans-serif";
    const isNarrow = left < NARROW; // then there is no room beside the plot
    context.textAlign = isNarrow ? "left" : "right";
    context.textBaseline = isNarrow ? "bottom" : "middle";
    context.lineWidth = 1;
    for (const mark of marks) {
      const y = Math.round(this.#y(mark)) + 0.5;
      context.strokeStyle = colors.border;
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(left + width, y);
      context.stroke();
      context.fillStyle = colors.muted;
      context.fillText(units.bytes.write(mark), isNarrow ? left + 2 : left - 6, Math.max(y, TOP));
    }
  }

  /**
   * @param {(number|null)[]} line
   * @param {string} color
   */
  #line(line, color) {
    const { context } = this.#surface;
    const { width } = this.#memory;
    context.strokeStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    let isOpen = false;
    line.forEach((value, bin) => {
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
    const lines = this.#memory.lines.flatMap((line, at) => {
      const value = line[bin] ?? null;
      return value === null ? [] : [/** @type {[string, string, string]} */ (["AB"[at], formatBytes(Math.round(value)), COLORS[at]])];
    });
    if (x < leftGutter() || !lines.length) this.#tooltip.hide();
    else this.#tooltip.show(x, y, `${formatDuration(seconds)} after the start`, lines);
  }
}

/** @param {(number|null)[]} line */
function peakOf(line) {
  return line.reduce((/** @type {number} */ most, value) => Math.max(most, value ?? 0), 0);
}
