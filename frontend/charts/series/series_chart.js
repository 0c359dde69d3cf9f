// A chart of series over the timeline: lines or stacked areas, with gaps where the recording has gaps.

import { contentOf } from "../../timeline/tiles/tile_store.js";
import { formatTime } from "../../timeline/times.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { drawGaps } from "../drawing/gaps.js";
import { Legend } from "./legend.js";
import { placeAt, pointsOf, runsOf, stack, valueAt } from "./series_points.js";
import { Readout } from "../drawing/readout.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";
import { drawUnloaded, unloadedWithin } from "../drawing/unloaded.js";
import { joined } from "../../timeline/tiles/unloaded.js";
import { ticks } from "./value_axis.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("./series_points.js").Points} Points */
/** @typedef {import("./value_axis.js").Unit} Unit */

/**
 * One series as a line or an area. `scale` multiplies its values; a worker's is clicked to select the worker.
 * @typedef {{series: Series, label: string, color: string, worker: number|null, scale?: number}} Line
 * @typedef {{value: number, label: string, color: "danger"|"warning"|"muted"}} Reference
 * @typedef {{name: string, title: string, layers: Chart["layers"], help: string, unit: Unit, stacked?: boolean,
 *   lines: (context: Context, view: View) => Line[],
 *   references?: (context: Context, view: View) => Reference[],
 *   empty: string, ofSelection?: boolean}} Definition where ofSelection charts show the selected worker alone
 */

const HEIGHT = 84;
const TOP = 6;
const BOTTOM = 4;
const MOST_LINES = 10; // in the tooltip
const DIMMED = 0.15;
const BEHIND = 0.5; // all workers together, behind the selected one

/**
 * @param {Definition} definition
 * @returns {Chart}
 */
export function seriesChart(definition) {
  const { name, title, layers, help } = definition;
  return {
    name,
    title,
    place: "timeline",
    layers,
    help,
    create: (element, context) => new SeriesChart(element, context, definition),
  };
}

class SeriesChart {
  #element;
  #context;
  #definition;
  #legend;
  #surface;
  #tooltip;
  #readout;
  #empty;
  /** @type {View|null} */
  #view = null;
  #version = -1;
  #selected = "";
  /** @type {Line[]} */
  #lines = [];
  /** @type {Map<number, Points>} */
  #points = new Map();
  /** @type {import("./series_points.js").Gaps} */
  #gaps = [];
  /** what the points were made of */
  #content = "";
  #highest = 1;
  /** @type {number|null} */
  #mouse = null;

  /**
   * @param {HTMLElement} element
   * @param {Context} context
   * @param {Definition} definition
   */
  constructor(element, context, definition) {
    this.#element = element;
    this.#context = context;
    this.#definition = definition;
    this.#legend = new Legend(element, (line) => context.selection.set({ worker: line.worker }));
    this.#surface = new Surface(element, definition.title);
    this.#empty = document.createElement("p");
    this.#empty.className = "chart-empty";
    element.append(this.#empty);
    this.#tooltip = new Tooltip(element);
    this.#readout = new Readout(element);
    element.addEventListener("pointermove", (event) => (this.#mouse = event.clientY));
    element.addEventListener("pointerleave", () => {
      this.#mouse = null;
      this.#tooltip.hide();
    });
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { selection, model } = this.#context;
    const selected = `${selection.worker}`;
    const isSame = this.#view && view.tiles === this.#view.tiles && view.width === this.#view.width;
    this.#view = view;
    if (!isSame || this.#version !== model.version || this.#selected !== selected) this.#paint(view);
    this.#version = model.version;
    this.#selected = selected;
    this.#point(view);
  }

  /** @param {View} view */
  #paint(view) {
    const { layers, lines } = this.#definition;
    this.#lines = lines(this.#context, view);
    this.#element.classList.toggle("has-no-series", !this.#lines.length);
    const wanted = new Map(this.#lines.map((line) => [line.series.id, line.series]));
    const names = typeof layers === "function" ? layers(this.#context) : layers;
    const tiles = names.flatMap((layer) => view.tiles[layer] ?? []);
    this.#gaps = this.#context.events.sampleGaps;
    const content = `${contentOf(tiles)} ${this.#lines.map((line) => line.series.id)} ${JSON.stringify(this.#gaps)}`;
    if (content !== this.#content) {
      this.#content = content;
      this.#points = pointsOf(tiles, wanted, this.#gaps);
      this.#scale();
    }
    this.#lines = this.#lines.filter((line) => this.#points.has(line.series.id));
    const left = leftGutter();
    this.#surface.clear(left + view.width + RIGHT_GUTTER, HEIGHT);
    this.#empty.hidden = this.#lines.length > 0;
    const { events, timeline } = this.#context;
    const gaps = events.gapsBetween(view.start, view.stop, "samples", this.#context.selection.worker);
    const unloaded = joined(names.flatMap((layer) => view.unloaded[layer] ?? []));
    const missing = unloadedWithin(unloaded, view.start, view.stop);
    const isUnselected = this.#definition.ofSelection && this.#context.selection.worker === null;
    this.#empty.textContent =
      missing && !isUnselected ? missing.message : emptyText(this.#definition.empty, isUnselected ? [] : gaps);
    this.#legend.show(this.#lines, this.#context.selection.worker);
    const references = this.#definition.references?.(this.#context, view) ?? [];
    const marks = this.#axis(references, left);
    const { context } = this.#surface;
    context.save();
    context.beginPath();
    context.rect(left, 0, view.width, HEIGHT);
    context.clip();
    if (this.#lines.length) {
      const range = /** @type {[number, number]} */ ([left, left + view.width]);
      drawUnloaded(context, unloaded, (time) => this.#x(time), range, 0, HEIGHT);
      drawGaps(context, gaps, (time) => this.#x(time), range, 0, HEIGHT, timeline.end);
    }
    if (this.#definition.stacked) this.#areas();
    else for (const line of this.#lines) this.#line(line);
    this.#references(references, marks, left);
    context.restore();
    this.#surface.canvas.setAttribute("aria-label", this.#describe(view));
  }

  #scale() {
    for (const { series, scale } of this.#lines) {
      const points = this.#points.get(series.id);
      if (!points || !scale || scale === 1) continue;
      for (const values of [points.mean, points.min, points.max]) values.forEach((_, at) => (values[at] *= scale));
    }
  }

  /**
   * Draws the grid and returns the ticks.
   * @param {import("./series_chart.js").Reference[]} references
   * @param {number} left
   */
  #axis(references, left) {
    const view = /** @type {View} */ (this.#view);
    const shown = references.filter((reference) => reference.value <= 3 * this.#peak(view));
    const highest = Math.max(this.#peak(view), ...shown.map((reference) => reference.value));
    const marks = ticks(highest, this.#definition.unit);
    this.#highest = marks[marks.length - 1];
    const { context } = this.#surface;
    const colors = theme();
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of this.#lines.length ? marks : []) {
      const y = Math.round(this.#y(value)) + 0.5;
      context.strokeStyle = colors.border;
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(left + view.width, y);
      context.stroke();
      context.fillStyle = colors.muted;
      context.fillText(this.#definition.unit.write(value), left - 6, Math.max(y, TOP), left - 6); // squeezed on a phone
    }
    return marks;
  }

  /** @param {View} view; the largest value in the window */
  #peak(view) {
    let peak = 0;
    const consider = (/** @type {number[]} */ time, /** @type {number[]} */ values) => {
      for (let at = 0; at < time.length; at++) {
        if (time[at] >= view.start && time[at] < view.stop && values[at] > peak) peak = values[at];
      }
    };
    if (!this.#definition.stacked) for (const points of this.#points.values()) consider(points.time, points.max);
    else {
      const { time, tops } = this.#stacked();
      if (tops.length) consider(time, tops[tops.length - 1]);
    }
    return peak;
  }

  #stacked() {
    const own = this.#lines.map(({ series }) => series.worker);
    const gaps = this.#gaps.filter(({ worker }) => worker === null || own.every((each) => each === worker));
    return stack(this.#lines.map((line) => /** @type {Points} */ (this.#points.get(line.series.id))), gaps);
  }

  #areas() {
    const { time, tops, breaks } = this.#stacked();
    const { context } = this.#surface;
    const zero = new Array(time.length).fill(0);
    for (let layer = 0; layer < tops.length; layer++) {
      context.fillStyle = this.#lines[layer].color;
      for (const [from, to] of runsOf(time, breaks)) {
        context.beginPath();
        for (let at = from; at <= to; at++) context.lineTo(this.#x(time[at]), this.#y(tops[layer][at]));
        const floor = layer ? tops[layer - 1] : zero;
        for (let at = to; at >= from; at--) context.lineTo(this.#x(time[at]), this.#y(floor[at]));
        context.fill();
      }
    }
  }

  /**
   * The runs within the window, with a point beyond each edge that lines go on to.
   * @param {[number, number][]} runs
   * @param {Points} points
   * @returns {[number, number][]}
   */
  #visible(runs, points) {
    const view = /** @type {View} */ (this.#view);
    const [first, last] = [placeAt(points, view.start), placeAt(points, view.stop) + 1];
    return runs
      .filter(([from, to]) => to >= first && from <= last)
      .map(([from, to]) => [Math.max(from, first), Math.min(to, last)]);
  }

  /** @param {Line} line */
  #line(line) {
    const { context } = this.#surface;
    const points = /** @type {Points} */ (this.#points.get(line.series.id));
    const { worker } = this.#context.selection;
    const isTogether = line.series.id < 0;
    context.globalAlpha = worker === null || worker === line.worker ? 1 : isTogether ? BEHIND : DIMMED;
    context.strokeStyle = context.fillStyle = line.color;
    context.lineWidth = worker !== null && worker === line.worker ? 2.2 : 1.3;
    for (const [from, to] of this.#visible(runsOf(points.time, points.breaks), points)) {
      if (points.hasBand) this.#band(points, from, to);
      context.beginPath();
      for (let at = from; at <= to; at++) context.lineTo(this.#x(points.time[at]), this.#y(points.mean[at]));
      if (from === to) context.arc(this.#x(points.time[from]), this.#y(points.mean[from]), 1, 0, 7);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /**
   * What lies between the least and the largest value of each bin: peaks stay in sight when zoomed out.
   * @param {Points} points
   * @param {number} from
   * @param {number} to
   */
  #band(points, from, to) {
    const { context } = this.#surface;
    const alpha = context.globalAlpha;
    context.globalAlpha = alpha * 0.25;
    context.beginPath();
    for (let at = from; at <= to; at++) context.lineTo(this.#x(points.time[at]), this.#y(points.max[at]));
    for (let at = to; at >= from; at--) context.lineTo(this.#x(points.time[at]), this.#y(points.min[at]));
    context.fill();
    context.globalAlpha = alpha;
  }

  /**
   * @param {Reference[]} references
   * @param {number[]} marks
   * @param {number} left
   */
  #references(references, marks, left) {
    const { context } = this.#surface;
    if (!this.#lines.length) return;
    const colors = theme();
    const shown = references
      .filter(({ value }) => value <= marks[marks.length - 1])
      .map((reference) => ({ ...reference, y: Math.round(this.#y(reference.value)) + 0.5 }));
    context.setLineDash([4, 3]);
    for (const { y, color } of shown) {
      context.strokeStyle = colors[color];
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(this.#surface.width, y);
      context.stroke();
    }
    context.setLineDash([]);
    context.textAlign = "left";
    context.textBaseline = "middle";
    let x = left + 4;
    for (const { y, label, color } of shown) {
      const width = context.measureText(label).width;
      const middle = y > 14 ? y - 8 : y + 8;
      context.fillStyle = colors.background; // no line goes through the label
      context.fillRect(x - 3, middle - 6, width + 6, 12);
      context.fillStyle = colors[color];
      context.fillText(label, x, middle);
      x += width + 14; // labels of close lines stand beside each other
    }
  }

  /** @param {View} view; the values at the instant under the mouse, which may be on another chart */
  #point(view) {
    const at = view.hover;
    if (at === null || this.#mouse === null) this.#tooltip.hide();
    if (at === null || this.#mouse !== null) this.#readout.hide();
    if (at === null) return;
    const values = at >= view.start && at <= view.stop ? this.#valuesAt(at) : [];
    if (this.#mouse === null) {
      const isLeft = at - view.start > (view.stop - view.start) / 2;
      return this.#readout.show(this.#x(at), this.#surface.canvas.offsetTop, isLeft, values);
    }
    if (!values.length) return this.#tooltip.hide();
    const rows = values.slice(0, MOST_LINES);
    if (values.length > MOST_LINES) rows.push([`and ${values.length - MOST_LINES} more`, ""]);
    const y = this.#mouse - this.#element.getBoundingClientRect().top;
    this.#tooltip.show(this.#x(at), y, formatTime(at, 1), rows);
  }

  /**
   * @param {number} at
   * @returns {import("../drawing/readout.js").Value[]}
   */
  #valuesAt(at) {
    const found = [];
    for (const line of this.#lines) {
      const value = valueAt(/** @type {Points} */ (this.#points.get(line.series.id)), at);
      if (value !== null) found.push({ line, value });
    }
    if (!this.#definition.stacked) found.sort((one, other) => other.value - one.value);
    return found.map(({ line, value }) => [line.label, this.#definition.unit.write(value), line.color]);
  }

  /** @param {View} view; the chart for those who can't see it */
  #describe(view) {
    const { title, unit } = this.#definition;
    const values = this.#lines.slice(0, MOST_LINES).map((line) => {
      const points = /** @type {Points} */ (this.#points.get(line.series.id));
      const place = placeAt(points, view.playhead);
      return `${line.label} ${place < 0 ? "unknown" : unit.write(points.mean[place])}`;
    });
    return values.length ? `${title} at the playhead: ${values.join(", ")}` : `${title}: ${this.#empty.textContent}`;
  }

  /** @param {number} time */
  #x(time) {
    const view = /** @type {View} */ (this.#view);
    return leftGutter() + ((time - view.start) / (view.stop - view.start)) * view.width;
  }

  /** @param {number} value */
  #y(value) {
    return HEIGHT - BOTTOM - (value / this.#highest) * (HEIGHT - TOP - BOTTOM);
  }
}

/**
 * What a chart without values says: what was not recorded, or else its own text.
 * @param {string} empty
 * @param {import("../../timeline/events.js").Gap[]} gaps in the window
 */
export function emptyText(empty, gaps) {
  if (!gaps.length) return empty;
  return `Records of this window are missing: ${[...new Set(gaps.map((gap) => gap.label))].join("; ")}.`;
}
