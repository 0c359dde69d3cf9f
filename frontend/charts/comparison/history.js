// A figure of the runs of one name over time, with lasting changes. The page has its points.

import { SITE } from "../../site.js";
import { formatDate } from "../../timeline/times.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";
import { ticks, units } from "../series/value_axis.js";

/**
 * `before` and `after`, at the first run after a change, are the medians on both sides of it.
 * @typedef {{time: number, value: number, outcome: string, run: number,
 *   change: {before: number, after: number, words: string}|null}} Point
 */

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [280, 76, 16, 26, 24]; // px
const NEAR = 14; // px: a point that the mouse is beside
const UNITS = { seconds: units.seconds, share: units.percent, bytes: units.bytes, count: units.count };
const APART = 14; // px between two labels of the time axis, at least
const DAY = 86_400; // seconds

/**
 * As many labels of a time axis as there is room for beside each other. The first begins where the axis begins, the last
 * ends where it ends, and the others are centred at their times.
 * @param {number} first seconds since the epoch
 * @param {number} last
 * @param {number} room px
 * @param {(text: string) => number} widthOf px
 * @returns {{time: number, text: string, left: number}[]} `left`: px from the begin of the axis
 */
export function placedLabels(first, last, room, widthOf) {
  for (let count = Math.max(1, Math.floor(room / 50)); count > 0; count--) {
    const found = timeLabels(first, last, count).map(({ time, text }) => {
      const [width, x] = [widthOf(text), last > first ? ((time - first) / (last - first)) * room : 0];
      return { time, text, left: time === first ? 0 : time === last ? room - width : x - width / 2 };
    });
    const isApart = found.every(({ text, left }, at) => {
      const next = found[at + 1];
      return !next || left + widthOf(text) + APART <= next.left;
    });
    if (isApart) return found;
  }
  return timeLabels(first, first, 1).map((label) => ({ ...label, left: 0 }));
}

/**
 * Labels of a time axis at equal distances, as exact as these are; none stands twice, nor does the day if it is one.
 * @param {number} first seconds since the epoch
 * @param {number} last
 * @param {number} count of distances
 */
export function timeLabels(first, last, count) {
  const step = (last - first) / count;
  const length = step >= DAY ? "2026-01-31".length : step >= 60 ? "2026-01-31 12:00".length : undefined;
  const labels = Array.from({ length: last > first ? count + 1 : 1 }, (_, at) => {
    const time = at === count ? last : first + at * step;
    return { time, text: formatDate(time).slice(0, length) };
  });
  const others = labels.filter(({ text }, at) => text !== labels[at - 1]?.text);
  const [day] = others[0].text.split(" ");
  if (!others.every(({ text }) => text.startsWith(`${day} `))) return others;
  return others.map(({ time, text }, at) => ({ time, text: at ? text.slice(day.length + 1) : text }));
}

export class History {
  #element;
  #points;
  #surface;
  #tooltip;
  #unit;
  #scale;
  #highest = 1;

  /**
   * @param {HTMLElement} element with data-unit and data-label
   * @param {Point[]} points
   */
  constructor(element, points) {
    this.#element = element;
    const { unit = "count", label = "" } = element.dataset;
    this.#unit = UNITS[/** @type {keyof typeof UNITS} */ (unit)];
    this.#scale = unit === "share" ? 100 : 1;
    this.#points = points.map((point) => ({ ...point, value: point.value * this.#scale }));
    const changes = points.flatMap(({ change, time }) =>
      change ? [`${change.words} since ${formatDate(time)}`] : [],
    );
    this.#surface = new Surface(
      element,
      `${label} of ${points.length} runs. ${changes.join("; ") || "No change."}`,
    );
    this.#tooltip = new Tooltip(element);
    element.addEventListener("pointermove", (event) => this.#hover(event));
    element.addEventListener("pointerleave", () => this.#tooltip.hide());
    element.addEventListener("click", (event) => {
      const near = this.#near(event);
      if (near) location.assign(`${SITE}/runs/${near.run}/`);
    });
    new ResizeObserver(() => this.#draw()).observe(element);
    window.addEventListener("themechange", () => this.#draw());
  }

  /** @param {number} time */
  #x(time) {
    const [first, last] = [this.#points[0].time, this.#points[this.#points.length - 1].time];
    const room = this.#surface.width - LEFT - RIGHT - 16;
    return LEFT + 8 + (last > first ? ((time - first) / (last - first)) * room : room / 2);
  }

  /** @param {number} value */
  #y(value) {
    return TOP + (1 - value / this.#highest) * (HEIGHT - TOP - BOTTOM);
  }

  #draw() {
    const style = getComputedStyle(this.#element);
    this.#surface.clear(this.#element.clientWidth - 2 * Number.parseFloat(style.paddingLeft), HEIGHT);
    if (!this.#points.length) return;
    const marks = ticks(Math.max(...this.#points.map(({ value }) => value)), this.#unit);
    this.#highest = marks[marks.length - 1];
    this.#drawValues(marks);
    this.#drawTimes();
    this.#drawMedians();
    this.#drawPoints();
    this.#surface.canvas.dataset.drawn = String(this.#points.length);
  }

  /** @param {number[]} marks */
  #drawValues(marks) {
    const { context, width } = this.#surface;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const mark of marks) {
      const y = Math.round(this.#y(mark)) + 0.5;
      this.#line(LEFT, y, width - RIGHT, y, theme().border);
      context.fillStyle = theme().muted;
      context.fillText(this.#unit.write(mark), LEFT - 6, y);
    }
  }

  #drawTimes() {
    const { context } = this.#surface;
    const [first, last] = [this.#points[0].time, this.#points[this.#points.length - 1].time];
    const room = this.#x(last) - this.#x(first);
    context.textBaseline = "top";
    context.textAlign = "left";
    context.fillStyle = theme().muted;
    for (const { text, left } of placedLabels(first, last, room, (text) => context.measureText(text).width))
      context.fillText(text, this.#x(first) + left, HEIGHT - BOTTOM + 8);
  }

  /** The median of each stretch, and a labelled line where one ends. */
  #drawMedians() {
    const { context, width } = this.#surface;
    const colors = theme();
    const changes = this.#points.filter(({ change }) => change);
    let from = this.#points[0].time;
    for (const [at, { time, change }] of changes.entries()) {
      if (!change) continue;
      const x = Math.round(this.#x(time)) - 6.5;
      context.lineWidth = 2;
      if (at === 0)
        this.#line(
          this.#x(from),
          this.#y(change.before * this.#scale),
          x,
          this.#y(change.before * this.#scale),
          colors.muted,
        );
      const until = changes[at + 1] ? this.#x(changes[at + 1].time) - 6.5 : width - RIGHT;
      this.#line(
        x,
        this.#y(change.after * this.#scale),
        until,
        this.#y(change.after * this.#scale),
        colors.muted,
      );
      context.lineWidth = 1;
      context.setLineDash([4, 3]);
      this.#line(x, TOP - 6, x, HEIGHT - BOTTOM, colors.danger);
      context.setLineDash([]);
      context.fillStyle = colors.danger;
      context.textBaseline = "bottom";
      const isRight = x > width / 2;
      context.textAlign = isRight ? "right" : "left";
      context.fillText(change.words, x + (isRight ? -5 : 5), TOP - 8 + (at % 2) * 14);
      from = time;
    }
  }

  #drawPoints() {
    const { context } = this.#surface;
    const colors = theme();
    for (const { time, value, outcome } of this.#points) {
      context.beginPath();
      context.arc(this.#x(time), this.#y(value), 3.5, 0, 7);
      context.fillStyle = outcome === "erred" || outcome === "lost" ? colors.danger : colors.accent;
      if (outcome === "running") {
        context.strokeStyle = context.fillStyle;
        context.stroke();
      } else context.fill();
    }
  }

  /**
   * @param {number} fromX
   * @param {number} fromY
   * @param {number} toX
   * @param {number} toY
   * @param {string} color
   */
  #line(fromX, fromY, toX, toY, color) {
    const { context } = this.#surface;
    context.strokeStyle = color;
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
  }

  /** @param {MouseEvent} event */
  #near(event) {
    const box = this.#surface.canvas.getBoundingClientRect();
    const distance = (/** @type {Point} */ { time, value }) =>
      Math.hypot(this.#x(time) - (event.clientX - box.left), this.#y(value) - (event.clientY - box.top));
    const nearest = this.#points.reduce(
      (/** @type {Point|null} */ best, point) => (best && distance(best) <= distance(point) ? best : point),
      null,
    );
    return nearest && distance(nearest) <= NEAR ? nearest : null;
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const near = this.#near(event);
    this.#surface.canvas.style.cursor = near ? "pointer" : "";
    if (!near) return this.#tooltip.hide();
    const box = this.#element.getBoundingClientRect();
    /** @type {[string, string][]} */
    const lines = [
      ["value", this.#unit.write(near.value)],
      ["outcome", near.outcome],
    ];
    if (near.change) lines.push(["since then", near.change.words]);
    this.#tooltip.show(event.clientX - box.left, event.clientY - box.top, formatDate(near.time), lines);
  }
}
