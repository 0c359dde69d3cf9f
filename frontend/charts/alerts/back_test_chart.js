// The chart of a back-test: a line for each subject, firings as bands, and the thresholds as lines that are moved by
// pointer or keys. Events are drawn as marks.

import { formatAmount } from "../../amounts.js";
import { element } from "../../element.js";
import { formatDate } from "../../timeline/times.js";
import { workerColor } from "../drawing/palette.js";
import { config, layoutOf, loadPlotly, plain } from "../drawing/plotly.js";
import { theme } from "../drawing/theme.js";

/**
 * `values` has null where there is no data.
 * @typedef {{cluster: string, subject: string, times: number[], values: (number|null)[],
 *   marks: [number, string][]}} Line
 * @typedef {{cluster: string, url: string, subject: string, pending: number, fired: number, resolved: number|null,
 *   value: number|null, text: string}} Firing
 * @typedef {{start: number, stop: number, is_event: boolean, unit: string, threshold: number,
 *   clear_threshold: number|null, lines: Line[], firings: Firing[]}} Drawn
 * @typedef {"threshold"|"clear_threshold"} Limit
 */

const HEIGHT = 320; // px
const MARGIN = { l: 72, r: 16, t: 10, b: 32 };
const STEPS = 100; // key presses over the chart's height
const [MOST_TICKS, ROOM] = [5, 1.08];
const NAMES = { threshold: "fires", clear_threshold: "clears" };

export class BackTestChart {
  #element;
  #moved;
  #plot = element("div", "back-test-plot");
  /** @type {Record<Limit, HTMLElement>} */
  #limits = { threshold: this.#limit("threshold"), clear_threshold: this.#limit("clear_threshold") };
  /** @type {import("../drawing/plotly.js").Plotly|null} */
  #plotly = null;
  /** @type {Drawn|null} */
  #drawn = null;
  #range = [0, 1];

  /**
   * @param {HTMLElement} place
   * @param {(limit: Limit, text: string) => void} moved called when a line was moved
   */
  constructor(place, moved) {
    this.#element = place;
    this.#moved = moved;
    this.#plot.setAttribute("aria-hidden", "true");
    place.append(this.#plot, this.#limits.threshold, this.#limits.clear_threshold);
    window.addEventListener("themechange", () => this.#paint());
    new ResizeObserver(() => this.#paint()).observe(place);
  }

  /** @param {Drawn} drawn */
  async draw(drawn) {
    this.#drawn = drawn;
    this.#range = rangeOf(drawn);
    this.#plotly ??= await loadPlotly().catch(() => null); // the list of firings has the same
    this.#paint();
  }

  #paint() {
    const drawn = this.#drawn;
    if (!drawn || !this.#plotly) return;
    const traces = drawn.lines.map((line, index) =>
      drawn.is_event ? marks(line, index) : curve(line, index, drawn),
    );
    const more = layout(drawn, this.#range);
    const width = this.#element.clientWidth;
    if (width) void this.#plotly.react(this.#plot, traces, layoutOf(width, HEIGHT, more), config);
    for (const limit of /** @type {Limit[]} */ (["threshold", "clear_threshold"])) this.#place(limit);
  }

  /** @param {Limit} limit */
  #limit(limit) {
    const label = element("span", "back-test-limit-label");
    const line = element("div", `back-test-limit back-test-${limit.replace("_", "-")}`, label);
    line.tabIndex = 0;
    line.setAttribute("role", "slider");
    line.setAttribute("aria-orientation", "vertical");
    line.setAttribute("aria-label", limit === "threshold" ? "threshold" : "clear threshold");
    line.addEventListener("pointerdown", (event) => {
      line.setPointerCapture(event.pointerId);
      line.focus();
      event.preventDefault();
    });
    line.addEventListener("pointermove", (event) => {
      if (line.hasPointerCapture(event.pointerId)) this.#move(limit, this.#valueAt(event.clientY));
    });
    line.addEventListener("keydown", (event) => this.#key(event, limit));
    return line;
  }

  /** @param {KeyboardEvent} event @param {Limit} limit */
  #key(event, limit) {
    const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[
      event.key
    ];
    const value = this.#drawn?.[limit];
    if (steps === undefined || value === null || value === undefined) return;
    event.preventDefault();
    const step = (this.#range[1] - this.#range[0]) / STEPS;
    this.#move(limit, value + steps * step);
  }

  /** @param {number} clientY */
  #valueAt(clientY) {
    const [low, high] = this.#range;
    const y = clientY - this.#element.getBoundingClientRect().top - MARGIN.t;
    return high - (y / (HEIGHT - MARGIN.t - MARGIN.b)) * (high - low);
  }

  /** @param {Limit} limit @param {number} value */
  #move(limit, value) {
    if (!this.#drawn) return;
    const [low, high] = this.#range;
    this.#drawn[limit] = Math.min(Math.max(value, low), high);
    this.#place(limit);
    this.#moved(limit, formatAmount(this.#drawn[limit], this.#drawn.unit));
  }

  /** @param {Limit} limit */
  #place(limit) {
    const [line, value] = [this.#limits[limit], this.#drawn?.[limit] ?? null];
    line.hidden = value === null || this.#drawn?.is_event === true;
    if (value === null || !this.#drawn) return;
    const [low, high] = this.#range;
    const share = (high - value) / (high - low);
    const text = formatAmount(value, this.#drawn.unit);
    line.style.top = `${MARGIN.t + share * (HEIGHT - MARGIN.t - MARGIN.b)}px`;
    line.style.left = `${MARGIN.l}px`;
    line.style.right = `${MARGIN.r}px`;
    line.firstChild?.replaceWith(element("span", "back-test-limit-label", `${NAMES[limit]} ${text}`));
    line.setAttribute("aria-valuenow", String(value));
    line.setAttribute("aria-valuemin", String(low));
    line.setAttribute("aria-valuemax", String(high));
    line.setAttribute("aria-valuetext", text);
  }
}

/** The range of the axis: all values, the thresholds and 0. @param {Drawn} drawn */
function rangeOf({ lines, threshold, clear_threshold, is_event }) {
  if (is_event) return [-0.5, Math.max(lines.length, 1) - 0.5];
  let [low, high] = [
    Math.min(0, threshold, clear_threshold ?? 0),
    Math.max(threshold, clear_threshold ?? threshold, 0),
  ];
  for (const { values } of lines) {
    for (const value of values) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low * ROOM, high * ROOM || 1];
}

/** @param {Line} line */
function nameOf({ cluster, subject }) {
  return plain(subject ? `${subject} · ${cluster}` : cluster);
}

/**
 * @param {Line} line
 * @param {number} index
 * @param {Drawn} drawn
 */
function curve(line, index, { unit, stop }) {
  const times = [...line.times, stop]; // a value is valid until the next one
  const values = [...line.values, line.values[line.values.length - 1] ?? null];
  const texts = values.map((value, at) =>
    value === null ? "" : `${formatDate(times[at])} ${formatAmount(value, unit)}`,
  );
  return {
    type: "scatter",
    mode: "lines",
    name: nameOf(line),
    x: times.map(shown),
    y: values,
    text: texts,
    hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
    line: { shape: "hv", width: 1.5, color: workerColor(index) },
    connectgaps: false,
  };
}

/**
 * @param {Line} line
 * @param {number} index
 */
function marks(line, index) {
  return {
    type: "scatter",
    mode: "markers",
    name: nameOf(line),
    x: line.marks.map(([time]) => shown(time)),
    y: line.marks.map(() => index),
    text: line.marks.map(([time, text]) => `${formatDate(time)} ${plain(text.slice(0, 200))}`),
    hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
    marker: { size: 9, symbol: "diamond", color: workerColor(index) },
  };
}

/**
 * @param {Drawn} drawn
 * @param {number[]} range
 */
function layout({ start, stop, firings, unit, is_event, lines }, range) {
  const { danger, border } = theme();
  const ticks = is_event ? lines.map((_, index) => index) : ticksOf(range);
  const texts = is_event
    ? lines.map((line) => plain((line.subject || line.cluster).slice(0, 10)))
    : ticks.map((tick) => formatAmount(tick, unit));
  return {
    margin: MARGIN,
    showlegend: false,
    hovermode: "closest",
    xaxis: { type: "date", range: [shown(start), shown(stop)], gridcolor: border, zeroline: false },
    yaxis: { range, tickvals: ticks, ticktext: texts, gridcolor: border, zeroline: false },
    shapes: firings.map(({ fired, resolved }) => ({
      type: "rect",
      xref: "x",
      yref: "paper",
      x0: shown(fired),
      x1: shown(resolved ?? stop),
      y0: 0,
      y1: 1,
      fillcolor: danger,
      opacity: 0.14,
      line: { width: 0 },
      layer: "below",
    })),
  };
}

/** @param {number[]} range */
function ticksOf([low, high]) {
  const rough = (high - low) / MOST_TICKS;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = magnitude * ([1, 2, 5, 10].find((each) => each * magnitude >= rough) ?? 10);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => (first + index) * step);
}

/** A time that Plotly, which only knows UTC, shows in the browser's time zone. @param {number} seconds */
function shown(seconds) {
  const date = new Date(seconds * 1000);
  return date.getTime() - date.getTimezoneOffset() * 60_000;
}
