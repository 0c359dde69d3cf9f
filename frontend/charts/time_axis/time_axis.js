// The time axis of all charts of a timeline: clock times above, times since the window's start below.

import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { zoneName } from "../../timeline/times.js";
import { clockTicks, elapsedTicks, instantText } from "./ticks.js";

/** @typedef {import("./ticks.js").Tick} Tick */
/** @typedef {{start: number, stop: number, width: number}} Window `width` px of the plot */

const HEIGHT = 35; // px
const TICK = 4; // px
const [CLOCK_LINE, ELAPSED_LINE] = [9, 23]; // px: the middles of the texts
const FONT = "11px system-ui, sans-serif";
const WIDE = 100; // px of the gutter from which it has whole words

export class TimeAxis {
  #surface;
  #instant = document.createElement("div");
  #zone = zoneName();
  #drawn = "";
  /** @type {[number, number]} px */
  #taken = [0, 0];

  /** @param {HTMLElement} element positioned */
  constructor(element) {
    this.#surface = new Surface(element, "Time axis");
    this.#instant.className = "time-axis-instant";
    this.#instant.hidden = true;
    element.append(this.#instant);
    window.addEventListener("themechange", () => (this.#drawn = ""));
  }

  /**
   * @param {Window} window
   * @param {number|null} hover the instant under the mouse
   * @param {[number, number]|null} [taken] px where something else lies over clock times
   */
  draw({ start, stop, width }, hover, taken = null) {
    this.#taken = taken ?? [0, 0];
    const drawn = `${start} ${stop} ${width} ${leftGutter()} ${taken} ${globalThis.devicePixelRatio}`;
    if (drawn !== this.#drawn) this.#drawTicks(start, stop, width);
    this.#drawn = drawn;
    this.#drawInstant(start, stop, width, hover);
  }

  /**
   * @param {number} start
   * @param {number} stop
   * @param {number} width
   */
  #drawTicks(start, stop, width) {
    const left = leftGutter();
    this.#surface.clear(left + width + RIGHT_GUTTER, HEIGHT);
    const { context, canvas } = this.#surface;
    const colors = theme();
    context.font = FONT;
    context.textBaseline = "middle";
    context.strokeStyle = colors.muted;
    const [clock, elapsed] = [clockTicks(start, stop, width), elapsedTicks(start, stop, width)];
    const x = (/** @type {number} */ time) => left + ((time - start) / (stop - start)) * width;
    context.beginPath();
    context.moveTo(left, HEIGHT - 0.5);
    context.lineTo(left + width, HEIGHT - 0.5);
    for (const tick of clock) {
      const place = Math.round(x(tick.time)) + 0.5;
      context.moveTo(place, HEIGHT - TICK);
      context.lineTo(place, HEIGHT);
    }
    context.stroke();
    this.#drawTexts(clock, x, CLOCK_LINE, colors.text);
    this.#drawTexts(elapsed, x, ELAPSED_LINE, colors.muted);
    this.#drawNames(left);
    canvas.setAttribute(
      "aria-label",
      `Time axis: ${instantText(start, stop, stop)} to ${instantText(stop, start, stop)} ${this.#zone}`,
    );
  }

  /**
   * Texts in the middle of their ticks; those that the edges would cut are left out.
   * @param {Tick[]} ticks
   * @param {(time: number) => number} x
   * @param {number} line
   * @param {string} color
   */
  #drawTexts(ticks, x, line, color) {
    const { context, width } = this.#surface;
    context.fillStyle = color;
    context.textAlign = "center";
    for (const { time, text } of ticks) {
      const [middle, half] = [x(time), context.measureText(text).width / 2];
      const isFree =
        line !== CLOCK_LINE || middle + half <= this.#taken[0] || middle - half >= this.#taken[1];
      if (middle + half <= width && isFree) context.fillText(text, middle, line);
    }
  }

  /** @param {number} left px of the gutter, which says what the rows are */
  #drawNames(left) {
    const { context } = this.#surface;
    context.fillStyle = theme().muted;
    context.textAlign = "left";
    if (left < WIDE) return;
    context.fillText(this.#zone, 0, CLOCK_LINE);
    context.fillText("since window start", 0, ELAPSED_LINE);
  }

  /**
   * @param {number} start
   * @param {number} stop
   * @param {number} width
   * @param {number|null} hover
   */
  #drawInstant(start, stop, width, hover) {
    const share = hover === null ? -1 : (hover - start) / (stop - start);
    this.#instant.hidden = hover === null || !(share >= 0 && share <= 1);
    if (hover === null || this.#instant.hidden) return;
    this.#instant.textContent = instantText(hover, start, stop);
    const x = Math.round(leftGutter() + share * width);
    this.#instant.style.transform = `translateX(${x}px) translateX(-${Math.round(share * 100)}%)`;
  }
}
