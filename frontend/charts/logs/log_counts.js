// The number of log lines over time, by level.

import { formatCount, formatDuration } from "../../formatting.js";
import { LEVEL_NAMES, LOG_LEVELS, knownLevel } from "../../timeline/log_levels.js";
import { LogOptions, logPath } from "./options.js";
import { formatTime } from "../../timeline/times.js";
import { WindowData } from "../../timeline/window_data.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { isoTime } from "../chart_menu/table.js";
import { drawGaps } from "../drawing/gaps.js";
import { PointedValues } from "../drawing/pointed_values.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { drawAxis, ticks, units } from "../series/value_axis.js";
import { element } from "../../element.js";
import { emptyLogs } from "./empty_logs.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/log_levels.js").LogLevel} LogLevel */
/** @typedef {import("../../types.js").Schemas["LogCountsOut"]} Counts */

const HEIGHT = 64;
const TOP = 6;
const BOTTOM = 2;
const LEAST = 2; // px of a level's lines in a bin, which else would not be seen
const DESCENDING = [...LOG_LEVELS].reverse();

/** @type {Chart} */
export const logCounts = {
  name: "log-counts",
  title: "Log lines",
  place: "timeline",
  part: "logs",
  layers: [],
  options: [LogOptions],
  help: "The number of log lines over time, by level: of those that the filter of the list of lines finds. A click moves the playhead.",
  create: (parent, context) => new LogCounts(parent, context),
};

class LogCounts {
  #parent;
  #context;
  #legend = element("ul", "legend");
  #surface;
  #empty = element("p", "chart-empty");
  #pointed;
  /** @type {WindowData<Counts>} */
  #data;
  #path;
  /** @type {unknown[]} what is drawn */
  #drawn = [];
  /** @type {View|null} */
  #view = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#path = logPath("log-counts", context);
    this.#data = new WindowData(context.source, this.#path);
    this.#data.addEventListener("change", () => this.#view && this.draw(this.#view));
    parent.append(this.#legend);
    this.#surface = new Surface(parent, "Log lines over time");
    parent.append(this.#empty);
    this.#pointed = new PointedValues(parent);
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#data.stop();
  }

  /** @param {View} view */
  draw(view) {
    const path = logPath("log-counts", this.#context);
    if (path !== this.#path) this.#data.restart((this.#path = path));
    this.#data.update(view);
    this.#view = view;
    const { answer, message } = this.#data;
    const drawn = [answer, message, view.start, view.stop, view.width, theme(), this.#context.events.list];
    if (!drawn.every((value, place) => value === this.#drawn[place])) this.#paint(view);
    this.#drawn = drawn;
    this.#pointed.show(
      view,
      (time) => this.#x(time),
      this.#surface.canvas.offsetTop,
      (time) => this.#valuesAt(time),
      {
        title: (time) => `${formatTime(time, 1)}, in ${formatDuration(this.#data.answer?.width ?? 0)}`,
      },
    );
  }

  table() {
    const { start, stop } = this.#view ?? { start: 0, stop: 0 };
    const { answer } = this.#data;
    const levels = answer?.levels ?? [];
    const most = Math.max(0, ...levels.map(({ counts }) => counts.length));
    const bins = answer
      ? Array.from({ length: most }, (_, bin) => ({ bin, from: answer.first + bin * answer.width }))
      : [];
    const shown = bins.filter(({ bin, from }) => {
      return from < stop && from + (answer?.width ?? 0) > start && levels.some(({ counts }) => counts[bin]);
    });
    const rows = shown.map(({ bin, from }) => [
      isoTime(from),
      ...levels.map(({ counts }) => counts[bin] ?? 0),
    ]);
    const note = answer
      ? `A row has the lines of ${formatDuration(answer.width)}; times without lines are left out.`
      : "";
    return {
      columns: ["begin (UTC)", ...levels.map(({ level }) => LEVEL_NAMES[knownLevel(level)])],
      rows,
      note,
    };
  }

  /** @returns {{level: LogLevel, count: number}[]} of the levels with lines, the most severe first */
  #shownCounts() {
    const levels = this.#data.answer?.levels ?? [];
    return DESCENDING.flatMap((level) => {
      const counts = levels.find((one) => one.level === level)?.counts ?? [];
      const count = counts.reduce((sum, value) => sum + value, 0);
      return count ? [{ level, count }] : [];
    });
  }

  /** @param {View} view */
  #paint(view) {
    const { answer, message } = this.#data;
    const left = leftGutter();
    const { events, timeline } = this.#context;
    this.#surface.clear(left + view.width + RIGHT_GUTTER, HEIGHT);
    const { context } = this.#surface;
    const shown = this.#shownCounts();
    this.#parent.classList.toggle("has-no-series", !shown.length);
    this.#empty.hidden = shown.length > 0;
    this.#empty.textContent = message || emptyLogs(this.#context);
    this.#showLegend(shown);
    const label = shown.map(({ level, count }) => `${formatCount(count)} ${LEVEL_NAMES[level]}`).join(", ");
    this.#surface.canvas.setAttribute(
      "aria-label",
      `Log lines in the window: ${label || this.#empty.textContent}`,
    );
    if (!answer || !shown.length) return;
    const most = this.#most(view, answer);
    const marks = ticks(most, units.count).filter(Number.isInteger);
    const highest = marks[marks.length - 1] || 1;
    const height = (/** @type {number} */ count) =>
      (count / Math.max(highest, most)) * (HEIGHT - TOP - BOTTOM);
    const range = /** @type {[number, number]} */ ([left, left + view.width]);
    drawAxis(context, marks, units.count, (value) => HEIGHT - BOTTOM - height(value), range, TOP);
    context.save();
    context.beginPath();
    context.rect(left, 0, view.width, HEIGHT);
    context.clip();
    const missing = events.gapsBetween(view.start, view.stop);
    drawGaps(context, missing, (time) => this.#x(time), range, 0, HEIGHT, timeline.end);
    this.#bars(answer, height);
    if (answer.counted_from !== null) this.#notCounted(answer.counted_from, left);
    context.restore();
  }

  /**
   * @param {Counts} answer
   * @param {(count: number) => number} height px of so many lines
   */
  #bars(answer, height) {
    const { context } = this.#surface;
    const most = Math.max(0, ...answer.levels.map(({ counts }) => counts.length));
    for (let bin = 0; bin < most; bin++) {
      const from = this.#x(answer.first + bin * answer.width);
      const width = Math.max(this.#x(answer.first + (bin + 1) * answer.width) - from - 1, 1.5);
      if (from + width < 0 || from > this.#surface.width) continue;
      let y = HEIGHT - BOTTOM;
      for (const level of DESCENDING) {
        const count = answer.levels.find((one) => one.level === level)?.counts[bin] ?? 0;
        if (!count) continue;
        const tall = Math.max(height(count), LEAST);
        context.fillStyle = levelColor(level);
        context.fillRect(from, y - tall, width, tall);
        y -= tall;
      }
    }
  }

  /**
   * @param {number} until
   * @param {number} left px where the plot begins
   */
  #notCounted(until, left) {
    const { context } = this.#surface;
    context.fillStyle = theme().muted;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "top";
    context.fillText(`not counted before ${formatTime(until, 0)}: the search takes too long`, left + 4, TOP);
  }

  /**
   * @param {View} view
   * @param {Counts} answer
   * @returns {number} the most lines of a bin in the window
   */
  #most(view, answer) {
    const [first, last] = [view.start, view.stop].map((time) => (time - answer.first) / answer.width);
    const lengths = answer.levels.map(({ counts }) => counts.length);
    let most = 1;
    for (let bin = Math.max(Math.floor(first), 0); bin <= Math.min(last, Math.max(...lengths)); bin++) {
      most = Math.max(
        most,
        answer.levels.reduce((sum, { counts }) => sum + (counts[bin] ?? 0), 0),
      );
    }
    return most;
  }

  /** @param {{level: LogLevel, count: number}[]} shown */
  #showLegend(shown) {
    const logOptions = this.#context.features.of(LogOptions);
    const items = shown.map(({ level, count }) => {
      const isLowest = logOptions.choice.level === level;
      const swatch = element("i", "");
      swatch.style.backgroundColor = levelColor(level);
      const button = element("button", "", swatch, `${LEVEL_NAMES[level]} ${formatCount(count)}`);
      button.type = "button";
      button.title = isLowest ? "Show all levels" : `Show ${LEVEL_NAMES[level]} and above only`;
      button.setAttribute("aria-pressed", String(isLowest));
      button.addEventListener("click", () => logOptions.set({ level: isLowest ? null : level }));
      return element("li", "", button);
    });
    this.#legend.replaceChildren(...items);
  }

  /** @param {number} at @returns {import("../drawing/readout.js").Value[]} */
  #valuesAt(at) {
    const { answer } = this.#data;
    if (!answer) return [];
    const bin = Math.floor((at - answer.first) / answer.width);
    return DESCENDING.flatMap((level) => {
      const count = answer.levels.find((one) => one.level === level)?.counts[bin] ?? 0;
      return count
        ? [
            /** @type {import("../drawing/readout.js").Value} */ ([
              LEVEL_NAMES[level],
              formatCount(count),
              levelColor(level),
            ]),
          ]
        : [];
    });
  }

  /** @param {number} time */
  #x(time) {
    const view = /** @type {View} */ (this.#view);
    return leftGutter() + ((time - view.start) / (view.stop - view.start)) * view.width;
  }
}

/** @param {LogLevel} level */
function levelColor(level) {
  const { danger, warning, accent, muted, text } = theme();
  return { 10: muted, 20: accent, 30: warning, 40: danger, 50: text }[level];
}
