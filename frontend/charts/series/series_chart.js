// A chart of series over the timeline: lines or stacked areas, with gaps where the recording has gaps.

import { newest, pausesOf } from "../../timeline/slots.js";
import { contentOf } from "../../timeline/tiles/tile_store.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { drawGaps } from "../drawing/gaps.js";
import { Legend } from "./legend.js";
import { seriesTable } from "./series_table.js";
import { joinPoints, placeAt, pointsOf, stack, sumPoints, valueAt } from "./series_points.js";
import { PointedValues } from "../drawing/pointed_values.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { drawUnloaded, unloadedWithin } from "../drawing/unloaded.js";
import { joined } from "../../timeline/tiles/unloaded.js";
import { drawEndLabels } from "./end_labels.js";
import { drawAreas, drawLine } from "./paths.js";
import { drawReferences } from "./references.js";
import { drawAxis, ticks } from "./value_axis.js";
import { areTangled, summarise } from "./worker_band.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("./series_points.js").Points} Points */
/** @typedef {import("./references.js").Reference} Reference */
/** @typedef {import("./value_axis.js").Unit} Unit */

/**
 * One line or area: of one series, or of those of a worker's lifetimes in order of time. `scale` multiplies its values;
 * a worker's has the key of its `slot` and is clicked to select it. One of all workers has a band. `isSum`: the series are
 * at the same time, and the line is their sum.
 * @typedef {{series: Series[], label: string, color: string, slot: string|null, isAll?: boolean, isSum?: boolean, scale?: number}} Line
 * @typedef {{name: string, title: string, layers: Chart["layers"], help: string, unit: Unit, quantity?: string, stacked?: boolean,
 *   lines: (context: Context, view: View) => Line[],
 *   references?: (context: Context, view: View) => Reference[],
 *   empty: string, ofSelection?: boolean, isThere?: Chart["isThere"]}} Definition where ofSelection charts show the selected worker alone
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
  const { name, title, layers, help, quantity, isThere } = definition;
  return {
    name,
    title,
    place: "timeline",
    layers,
    help,
    quantity,
    isThere,
    create: (element, context) => new SeriesChart(element, context, definition),
  };
}

class SeriesChart {
  #element;
  #context;
  #definition;
  #legend;
  #surface;
  #pointed;
  #empty;
  /** @type {View|null} */
  #view = null;
  #version = -1;
  #selected = "";
  /** @type {Line[]} */
  #lines = [];
  /** @type {Map<string, Points>} by `nameOf` of the line */
  #points = new Map();
  /** @type {import("./series_points.js").Gaps} */
  #gaps = [];
  /** what the points were made of */
  #content = "";
  #areTangled = false;
  #highest = 1;
  #hasSeries = false;
  #height = HEIGHT;
  #scales = {
    x: (/** @type {number} */ time) => this.#x(time),
    y: (/** @type {number} */ value) => this.#y(value),
  };

  /**
   * @param {HTMLElement} element
   * @param {Context} context
   * @param {Definition} definition
   */
  constructor(element, context, definition) {
    this.#element = element;
    this.#context = context;
    this.#definition = definition;
    this.#legend = new Legend(element, (slot) => {
      const chosen = context.model.slots.get(slot ?? "");
      context.selection.set({ worker: chosen ? newest(chosen).id : null });
    });
    this.#surface = new Surface(element, definition.title);
    this.#surface.canvas.style.height = `${this.#height}px`; // also before it is drawn
    this.#empty = document.createElement("p");
    this.#empty.className = "chart-empty";
    element.append(this.#empty);
    this.#pointed = new PointedValues(element);
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** @param {{height: number|null}} size */
  resize({ height }) {
    if (this.#height === (height ?? HEIGHT)) return;
    this.#height = height ?? HEIGHT;
    this.#surface.canvas.style.height = `${this.#height}px`;
    if (this.#view) this.#paint(this.#view);
  }

  /** @param {View} view */
  isEmpty(view) {
    if (view.tiles === this.#view?.tiles) return !this.#hasSeries;
    return !this.#definition.lines(this.#context, view).length;
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
    const top = this.#surface.canvas.offsetTop;
    this.#pointed.show(
      view,
      (time) => this.#x(time),
      top,
      (time) => this.#valuesAt(time),
      { inTooltip: firstOf },
    );
  }

  /** @param {View} view */
  #paint(view) {
    const { layers, lines } = this.#definition;
    this.#lines = lines(this.#context, view);
    this.#hasSeries = this.#lines.length > 0;
    this.#element.classList.toggle("has-no-series", !this.#hasSeries);
    const wanted = new Map(this.#lines.flatMap((line) => line.series.map((series) => [series.id, series])));
    const names = typeof layers === "function" ? layers(this.#context) : layers;
    const tiles = names.flatMap((layer) => view.tiles[layer] ?? []);
    this.#gaps = this.#context.events.sampleGaps;
    const content = `${contentOf(tiles)} ${this.#lines.map(nameOf)} ${JSON.stringify(this.#gaps)}`;
    if (content !== this.#content) {
      this.#content = content;
      this.#takePoints(pointsOf(tiles, wanted, this.#gaps));
    }
    this.#lines = this.#lines.filter((line) => this.#points.has(nameOf(line)));
    if (!this.#definition.stacked) this.#summarise(view);
    const left = leftGutter();
    this.#surface.clear(left + view.width + RIGHT_GUTTER, this.#height);
    this.#empty.hidden = this.#lines.length > 0;
    const { events, timeline, model, selection } = this.#context;
    const gaps = events.gapsBetween(view.start, view.stop, "samples", model.lifetimesOf(selection.worker));
    const unloaded = joined(names.flatMap((layer) => view.unloaded[layer] ?? []));
    const missing = unloadedWithin(unloaded, view.start, view.stop);
    const isUnselected = this.#definition.ofSelection && this.#context.selection.worker === null;
    this.#empty.textContent =
      missing && !isUnselected
        ? missing.message
        : emptyText(this.#definition.empty, isUnselected ? [] : gaps);
    this.#legend.show(this.#lines, model.slotOf(selection.worker)?.key ?? null);
    const references = this.#definition.references?.(this.#context, view) ?? [];
    const marks = this.#axis(references, left);
    const { context } = this.#surface;
    context.save();
    context.beginPath();
    context.rect(left, 0, view.width, this.#height);
    context.clip();
    if (this.#lines.length) {
      const range = /** @type {[number, number]} */ ([left, left + view.width]);
      drawUnloaded(context, unloaded, (time) => this.#x(time), range, 0, this.#height);
      drawGaps(context, gaps, (time) => this.#x(time), range, 0, this.#height, timeline.end);
    }
    const colors = this.#lines.map(({ color }) => color);
    if (this.#definition.stacked) drawAreas(context, this.#stacked(), colors, this.#scales);
    else for (const line of this.#lines) this.#line(line);
    const shown = references.filter(({ value }) => this.#lines.length && value <= marks[marks.length - 1]);
    const taken = drawReferences(context, shown, (value) => this.#y(value), left, this.#surface.width);
    drawEndLabels(context, this.#ends(view), taken, [left, left + view.width], this.#height);
    context.restore();
    this.#surface.canvas.setAttribute("aria-label", this.#describe(view));
  }

  /** @param {Map<number, Points>} found by series */
  #takePoints(found) {
    this.#points = new Map();
    for (const line of this.#lines) {
      const parts = line.series.flatMap(({ id }) => found.get(id) ?? []);
      if (!parts.length) continue;
      const points = line.isSum ? sumPoints(parts, this.#gaps) : joinPoints(parts);
      const { scale = 1 } = line;
      if (scale !== 1)
        for (const values of [points.mean, points.min, points.max])
          values.forEach((_, at) => (values[at] *= scale));
      this.#points.set(nameOf(line), points);
    }
  }

  /**
   * Replaces lines of workers that can't be followed with the eye by a band.
   * @param {View} view
   */
  #summarise(view) {
    const { model, selection } = this.#context;
    const all = this.#lines.map((line) => this.#pointsOf(line));
    const ofWorkers = all.filter((_, place) => this.#lines[place].slot !== null);
    this.#areTangled = areTangled(ofWorkers, view, this.#height - TOP - BOTTOM, this.#areTangled);
    if (!this.#areTangled) return;
    const chosen = model.slotOf(selection.worker)?.key ?? null;
    const { lines, band } = summarise(this.#lines, all, view, chosen, theme().accent);
    this.#lines = lines;
    this.#points.set(nameOf(lines[0]), band);
  }

  /** @param {Line} line that has points */
  #pointsOf(line) {
    return /** @type {Points} */ (this.#points.get(nameOf(line)));
  }

  /**
   * Draws the grid and returns the ticks.
   * @param {Reference[]} references
   * @param {number} left
   */
  #axis(references, left) {
    const view = /** @type {View} */ (this.#view);
    const shown = references.filter((reference) => reference.value <= 3 * this.#peak(view));
    const highest = Math.max(this.#peak(view), ...shown.map((reference) => reference.value));
    const marks = ticks(highest, this.#definition.unit);
    this.#highest = marks[marks.length - 1];
    const range = /** @type {[number, number]} */ ([left, left + view.width]);
    if (this.#lines.length)
      drawAxis(this.#surface.context, marks, this.#definition.unit, (value) => this.#y(value), range, TOP);
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
    if (!this.#definition.stacked) {
      for (const { time, max } of this.#lines.map((line) => this.#pointsOf(line))) consider(time, max);
    } else {
      const { time, tops } = this.#stacked();
      if (tops.length) consider(time, tops[tops.length - 1]);
    }
    return peak;
  }

  #stacked() {
    const { model, selection } = this.#context;
    const lifetimes = this.#definition.ofSelection ? (model.slotOf(selection.worker)?.lifetimes ?? []) : [];
    const own = lifetimes.map(({ id }) => id);
    const gaps = this.#gaps.filter(({ worker }) => worker === null || own.includes(worker));
    const pauses = pausesOf(lifetimes).map((pause) => ({ ...pause, worker: own[0] }));
    return stack(
      this.#lines.map((line) => this.#pointsOf(line)),
      [...gaps, ...pauses],
    );
  }

  /** @param {Line} line */
  #line(line) {
    const { context } = this.#surface;
    const points = this.#pointsOf(line);
    const { model, selection } = this.#context;
    const chosen = this.#definition.ofSelection ? null : (model.slotOf(selection.worker)?.key ?? null);
    context.globalAlpha = chosen === null || chosen === line.slot ? 1 : line.isAll ? BEHIND : DIMMED;
    context.strokeStyle = context.fillStyle = line.color;
    context.lineWidth = chosen !== null && chosen === line.slot ? 2.2 : 1.3;
    drawLine(context, points, /** @type {View} */ (this.#view), this.#scales);
    context.globalAlpha = 1;
  }

  /**
   * Where the lines over a band end, to be named there.
   * @param {View} view
   */
  #ends(view) {
    const named = this.#lines.some(({ isAll }) => isAll)
      ? this.#lines.filter(({ slot }) => slot !== null)
      : [];
    return named.reverse().flatMap(({ label, color, ...line }) => {
      const points = this.#pointsOf({ label, color, ...line });
      const last = placeAt(points, view.stop);
      if (last < 0 || points.time[last] < view.start) return [];
      return [{ label, color, x: this.#x(points.time[last]), y: this.#y(points.mean[last]) }];
    });
  }

  /**
   * @param {number} at
   * @returns {import("../drawing/readout.js").Value[]}
   */
  #valuesAt(at) {
    const { write } = this.#definition.unit;
    const found = [];
    for (const line of this.#lines) {
      const points = this.#pointsOf(line);
      const value = valueAt(points, at);
      if (value === null) continue;
      const place = placeAt(points, at);
      const range = line.isAll ? ` (${write(points.min[place])} – ${write(points.max[place])})` : "";
      found.push({ line, value, text: `${write(value)}${range}` });
    }
    if (!this.#definition.stacked) found.sort((one, other) => other.value - one.value);
    return found.map(({ line, text }) => [line.label, text, line.color]);
  }

  table() {
    const lines = this.#lines.map((line) => ({ label: line.label, points: this.#pointsOf(line) }));
    return seriesTable(lines, this.#view ?? { start: 0, stop: 0 }, this.#definition.unit);
  }

  /** @param {View} view; the chart for those who can't see it */
  #describe(view) {
    const { title, unit } = this.#definition;
    const values = this.#lines.slice(0, MOST_LINES).map((line) => {
      const points = this.#pointsOf(line);
      const place = placeAt(points, view.playhead);
      return `${line.label} ${place < 0 ? "unknown" : unit.write(points.mean[place])}`;
    });
    return values.length
      ? `${title} at the playhead: ${values.join(", ")}`
      : `${title}: ${this.#empty.textContent}`;
  }

  /** @param {number} time */
  #x(time) {
    const view = /** @type {View} */ (this.#view);
    return leftGutter() + ((time - view.start) / (view.stop - view.start)) * view.width;
  }

  /** @param {number} value */
  #y(value) {
    return this.#height - BOTTOM - (value / this.#highest) * (this.#height - TOP - BOTTOM);
  }
}

/**
 * As many values as a tooltip has room for.
 * @param {import("../drawing/readout.js").Value[]} values
 * @returns {import("../drawing/readout.js").Value[]}
 */
function firstOf(values) {
  const rows = values.slice(0, MOST_LINES);
  return values.length > MOST_LINES ? [...rows, [`and ${values.length - MOST_LINES} more`, ""]] : rows;
}

/**
 * What a chart without values says: what was not recorded, or else its own text.
 * @param {string} empty
 * @param {import("../../timeline/marks/events.js").Gap[]} gaps in the window
 */
export function emptyText(empty, gaps) {
  if (!gaps.length) return empty;
  return `Records of this window are missing: ${[...new Set(gaps.map((gap) => gap.label))].join("; ")}.`;
}

/** @param {Line} line @returns {string} the ids of its series */
function nameOf({ series }) {
  return series.map(({ id }) => id).join(" ");
}
