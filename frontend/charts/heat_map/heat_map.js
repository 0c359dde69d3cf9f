// The heat map: a row for each worker, a column for each few pixels of time, and the quantiles of all workers above.

import { element } from "../../element.js";
import { formatCountOf } from "../../formatting.js";
import { HOST } from "../../timeline/labels.js";
import { newest, slotLabel } from "../../timeline/slots.js";
import { bandLayer, eachLayer } from "../../timeline/tiles/bands.js";
import { binWidth, finestLevel, levelFor } from "../../timeline/tiles/levels.js";
import { contentOf } from "../../timeline/tiles/tile_store.js";
import { formatTime } from "../../timeline/times.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { WIDE_BIN } from "../../contract.js";
import { drawGaps } from "../drawing/gaps.js";
import { Readout } from "../drawing/readout.js";
import { Surface } from "../drawing/surface.js";
import { Tooltip } from "../drawing/tooltip.js";
import { drawUnloaded, unloadedWithin } from "../drawing/unloaded.js";
import { cellsOf } from "./cells.js";
import { imageOf, isDarkTheme } from "./colors.js";
import { HeatControls } from "./heat_controls.js";
import { heatLayout, rowsAt, topOfRow } from "./heat_layout.js";
import { drawChosen, drawNames } from "./heat_names.js";
import {
  NO_GROUPS,
  arranged,
  chosenGrouping,
  describeSlot,
  groupOf,
  groupings,
  hostOf,
  outstanding,
  peakOf,
  rowValues,
} from "./heat_rows.js";
import { heatTable } from "./heat_table.js";
import { BANDS_HEIGHT, drawQuantiles, quantilesOf } from "./quantiles.js";
import { QUANTITIES, topOf } from "./quantities.js";
import { HeatOptions } from "./options.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./cells.js").Cells} Cells */
/** @typedef {import("./heat_rows.js").Arrangement} Arrangement */

const VIEWER = "heat-map";
const MOST_CELLS = 150_000; // of all workers: more take megabytes, at two (memory) to nine (tasks) bytes a cell
const FINER = 2; // so that a column of eight bins has 4 to 8 px
const PAUSE = 500; // ms between two looks at the tiles: rows that jump at each frame couldn't be read
const LOWEST_NAMED = 4; // px of a row that stands out
const GAP = 8; // px between the quantiles and the rows
const PAGE = 10; // rows that Page Up and Page Down go over

/** @type {Chart} */
export const heatMap = {
  name: "heat-map",
  title: "Heat map of workers",
  place: "timeline",
  layers: [], // the quantity decides which: see cover
  options: [HeatOptions],
  help:
    "A row for each worker: the stronger the colour, the greater the value. Above, the median of all workers and the band from 5 % to " +
    "95 %. A duration is relative to the median of the prefix that a worker computed. Where there are more rows than lines, " +
    "a line has the greatest value of its rows. Click a row to select the worker.",
  create: (parent, context) => new HeatMap(parent, context),
};

class HeatMap {
  #parent;
  #context;
  #options;
  #controls;
  #stage = element("div", "heat-map");
  #surface;
  #tooltip;
  #readout;
  #empty = element("p", "chart-empty");
  /** @type {View|null} */
  #view = null;
  /** @type {string[]} */
  #layers = [];
  /** @type {import("../../types.js").Tile[]} */
  #tiles = [];
  #step = 1;
  /** @type {Cells|null} */
  #cells = null;
  /** @type {import("./quantiles.js").Quantiles|null} */
  #quantiles = null;
  /** @type {Arrangement} */
  #arrangement = { order: [], groups: [] };
  /** @type {number[]} */
  #values = [];
  #grouping = NO_GROUPS;
  #layout = heatLayout({ order: [], groups: [] }, 0, 1);
  /** @type {HTMLCanvasElement|null} */
  #image = null;
  /** @type {number[]} rows that stand out */
  #named = [];
  /** @type {HTMLCanvasElement|null} a line for each of them */
  #namedImage = null;
  #top = 1;
  /** what the cells, and the order of the rows, were made of */
  #content = "";
  #arranged = "";
  #looked = -Infinity;
  #timer = 0;
  /** @type {{x: number, y: number}|null} */
  #mouse = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#options = context.features.of(HeatOptions);
    this.#controls = new HeatControls(this.#options);
    parent.append(this.#controls.bar, this.#controls.scale, this.#stage, this.#empty);
    this.#surface = new Surface(this.#stage, heatMap.title);
    this.#tooltip = new Tooltip(this.#stage);
    this.#readout = new Readout(this.#stage);
    this.#stage.tabIndex = 0;
    this.#stage.setAttribute("role", "slider");
    this.#stage.setAttribute("aria-orientation", "vertical");
    this.#stage.setAttribute("aria-label", "Selected worker of the heat map");
    for (const name of ["aria-valuemin", "aria-valuemax", "aria-valuenow"])
      this.#stage.setAttribute(name, "0");
    this.#stage.addEventListener("pointermove", (event) => this.#hover(event));
    this.#stage.addEventListener("pointerleave", () => {
      this.#mouse = null;
      this.#tooltip.hide();
    });
    this.#stage.addEventListener("click", (event) => this.#click(event));
    this.#stage.addEventListener("keydown", (event) => this.#press(event));
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    for (const layer of this.#layers) this.#context.tiles.release(VIEWER, layer);
    this.#layers = [];
  }

  /** Takes the tiles of the quantity. @param {View} view */
  cover(view) {
    const { model, tiles, info } = this.#context;
    const { layer } = QUANTITIES[this.#options.quantity];
    const [band, ...others] = model.bandsBetween(view.start, view.stop);
    const isEach = layer === "spans" || others.length > 0;
    const name = isEach ? eachLayer(layer) : bandLayer(layer, band);
    for (const other of this.#layers) if (other !== name) tiles.release(VIEWER, other);
    this.#layers = [name];
    const wide = Math.min(FINER * view.width, (WIDE_BIN * MOST_CELLS) / Math.max(model.slots.size, 1));
    const level = levelFor(view.stop - view.start, wide, finestLevel(layer, info));
    this.#step = WIDE_BIN * binWidth(Math.min(level, info.maximum_level));
    this.#tiles = tiles.cover(VIEWER, name, view.start, view.stop, isEach ? wide : view.width);
  }

  get summary() {
    const { unit, label } = this.#quantity;
    return this.#cells
      ? `${label} (${unit.name}) of ${formatCountOf(this.#arrangement.order.length, "worker")}`
      : label;
  }

  get #quantity() {
    return QUANTITIES[this.#options.quantity];
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    if (!this.#layers.length) this.cover(view);
    this.#look(view);
    this.#paint(view);
    this.#point(view);
  }

  /** Makes cells and rows of what the tiles have; of what goes on changing not at each frame. @param {View} view */
  #look(view) {
    const { model, timeline } = this.#context;
    const { quantity, group, order } = this.#options;
    const wished = `${quantity} ${group} ${order} ${isDarkTheme()}`;
    const content = `${contentOf(this.#tiles)} ${model.version} ${this.#step}`;
    const shown = `${content} ${view.start} ${view.stop} ${window.innerHeight}`;
    if (this.#arranged === `${wished} ${shown}`) return;
    const wait = this.#looked + PAUSE - performance.now();
    if (wait > 0 && this.#cells && this.#arranged.startsWith(`${wished} `)) {
      this.#timer ||= window.setTimeout(() => this.#lookAgain(), wait);
      return;
    }
    this.#looked = performance.now();
    if (this.#content !== `${wished} ${content}` || timeline.live) {
      const slots = model.slotsBetween(...reachOf(this.#tiles, view));
      this.#cells = cellsOf(this.#tiles, quantity, model, slots, this.#step, timeline.end);
      this.#quantiles = quantilesOf(this.#cells);
      this.#content = `${wished} ${content}`;
    }
    this.#arranged = `${wished} ${shown}`;
    if (this.#cells) this.#arrange(view, this.#cells);
  }

  #lookAgain() {
    this.#timer = 0;
    if (this.#view) this.draw(this.#view);
  }

  /** @param {View} view @param {Cells} cells */
  #arrange(view, cells) {
    const { isSum } = this.#quantity;
    const { slots, columns } = cells.grid;
    const isThere = slots.map(({ lifetimes }) =>
      lifetimes.some(({ started, ended }) => started < view.stop && (ended ?? Infinity) > view.start),
    );
    this.#values = rowValues(cells, isSum, view.start, view.stop);
    this.#grouping = chosenGrouping(slots, this.#options.group);
    this.#controls.update(groupings(slots), this.#grouping);
    const present = slots.flatMap((_, row) => (isThere[row] ? [row] : []));
    const found = arranged(
      present.map((row) => slots[row]),
      present.map((row) => this.#values[row]),
      this.#grouping,
      this.#options.order,
    );
    this.#arrangement = { ...found, order: found.order.map((place) => present[place]) };
    const peak = peakOf(cells, this.#arrangement.order, view);
    this.#top = topOf(this.#quantity, peak);
    this.#controls.drawScale(this.#quantity, this.#top, peak > this.#top);
    this.#layout = heatLayout(
      this.#arrangement,
      Math.max(160, window.innerHeight * 0.4),
      this.#surface.ratio,
    );
    const image = { columns, values: cells.values };
    this.#image = imageOf(image, this.#arrangement.order, this.#layout.lines, this.#top);
    this.#named = this.#layout.row < LOWEST_NAMED ? outstanding(this.#values) : [];
    this.#namedImage = imageOf(image, this.#named, this.#named.length, this.#top);
  }

  /** @param {View} view */
  #paint(view) {
    const { context } = this.#surface;
    const left = leftGutter();
    const range = /** @type {[number, number]} */ ([left, left + view.width]);
    const hasValues = this.#values.some((value) => !Number.isNaN(value));
    const unloaded = this.#layers.flatMap((layer) => this.#context.tiles.unloaded(VIEWER, layer));
    const missing = unloadedWithin(unloaded, view.start, view.stop);
    this.#parent.classList.toggle("has-no-series", !hasValues);
    this.#empty.hidden = hasValues;
    this.#empty.textContent = missing ? missing.message : this.#quantity.empty;
    this.#stage.hidden = this.#controls.scale.hidden = !hasValues;
    const offset = BANDS_HEIGHT + GAP;
    this.#surface.clear(left + view.width + RIGHT_GUTTER, offset + this.#layout.height + 1);
    this.#stage.setAttribute("aria-valuemax", String(this.#arrangement.order.length));
    if (!hasValues || !this.#cells || !this.#quantiles || !this.#image) return;
    const { grid } = this.#cells;
    const x = (/** @type {number} */ column) => this.#x(grid.startOf(column));
    const columns = {
      first: Math.max(grid.columnAt(view.start), 0),
      last: Math.min(grid.columnAt(view.stop), grid.columns - 1),
      x,
      range,
    };
    const chosen = this.#chosenRow;
    const its =
      chosen < 0 ? null : this.#cells.values.subarray(chosen * grid.columns, (chosen + 1) * grid.columns);
    drawQuantiles(context, this.#quantiles, its, this.#quantity.unit, columns);
    context.save();
    context.beginPath();
    context.rect(left, 0, view.width, offset + this.#layout.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    const from = this.#x(grid.startOf(0));
    const width = this.#x(grid.startOf(grid.columns)) - from;
    for (const { first, count, top, height } of this.#layout.sections) {
      context.drawImage(this.#image, 0, first, grid.columns, count, from, offset + top, width, height);
    }
    this.#named.forEach((row, line) => {
      const top = offset + this.#namedTop(row);
      if (this.#namedImage)
        context.drawImage(this.#namedImage, 0, line, grid.columns, 1, from, top, width, LOWEST_NAMED);
    });
    const gaps = this.#context.events.gapsBetween(
      view.start,
      view.stop,
      this.#quantity.layer === "spans" ? "tasks" : "samples",
    );
    drawGaps(
      context,
      gaps,
      (time) => this.#x(time),
      range,
      0,
      this.#surface.height,
      this.#context.timeline.end,
    );
    drawUnloaded(context, unloaded, (time) => this.#x(time), range, 0, this.#surface.height);
    context.restore();
    const place = { left, top: offset, width: view.width };
    drawNames(context, this.#layout, this.#arrangement, grid.slots, this.#named, place);
    drawChosen(context, this.#layout, topOfRow(this.#layout, this.#arrangement, chosen), place);
    this.#describe(chosen);
  }

  /** @param {number} row that stands out @returns {number} px of where it is drawn, below the quantiles */
  #namedTop(row) {
    return Math.min(topOfRow(this.#layout, this.#arrangement, row) ?? 0, this.#layout.height - LOWEST_NAMED);
  }

  /** @returns {number} the row of the selected worker; -1 for none */
  get #chosenRow() {
    const { model, selection } = this.#context;
    const key = model.slotOf(selection.worker)?.key;
    return key === undefined ? -1 : (this.#cells?.grid.slots.findIndex((slot) => slot.key === key) ?? -1);
  }

  /** @param {number} chosen; the chart for those who can't see it */
  #describe(chosen) {
    const { order } = this.#arrangement;
    const { unit } = this.#quantity;
    const slots = this.#cells?.grid.slots ?? [];
    const known = order.filter((row) => !Number.isNaN(this.#values[row]));
    const most = known.reduce((best, row) => (this.#values[row] > this.#values[best] ? row : best), known[0]);
    const text = known.length ? `; most: ${slotLabel(slots[most])}, ${unit.write(this.#values[most])}` : "";
    this.#surface.canvas.setAttribute("aria-label", `Heat map: ${this.summary}${text}`);
    this.#stage.setAttribute("aria-valuenow", String(order.indexOf(chosen) + 1));
    const value =
      chosen < 0 || Number.isNaN(this.#values[chosen]) ? "unknown" : unit.write(this.#values[chosen]);
    this.#stage.setAttribute(
      "aria-valuetext",
      chosen < 0 ? "none" : `${describeSlot(slots[chosen], this.#grouping)}: ${value}`,
    );
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const box = this.#surface.canvas.getBoundingClientRect();
    this.#mouse = { x: event.clientX - box.left, y: event.clientY - box.top };
    const isDragging = event.buttons > 0 && event.pointerType === "mouse";
    if (isDragging) this.#tooltip.hide();
    else if (this.#view) this.#point(this.#view);
    this.#surface.canvas.style.cursor = this.#rowAt(this.#mouse.x, this.#mouse.y) === null ? "" : "pointer";
  }

  /** The row under the mouse; of several in a line the one with the greatest value there. @param {number} x @param {number} y */
  #rowAt(x, y) {
    const height = y - BANDS_HEIGHT - GAP;
    const rows = rowsAt(this.#layout, this.#arrangement, height);
    if (!this.#cells || !rows.length) return null;
    const named = this.#named.findLast(
      (row) => height >= this.#namedTop(row) && height < this.#namedTop(row) + LOWEST_NAMED,
    );
    if (named !== undefined) return named;
    const { grid, values } = this.#cells;
    const column = grid.columnAt(this.#timeAt(x));
    const worth = (/** @type {number} */ row) => values[row * grid.columns + column] || 0;
    return rows.reduce((best, row) => (worth(row) > worth(best) ? row : best));
  }

  /** The values at the instant under the mouse, which may be on another chart. @param {View} view */
  #point(view) {
    const at = this.#mouse ? this.#timeAt(this.#mouse.x) : view.hover;
    if (at === null || !this.#cells || !this.#quantiles) {
      this.#tooltip.hide();
      return this.#readout.hide();
    }
    const { grid, values, prefixes } = this.#cells;
    const column = grid.columnAt(at);
    const isInside = at >= view.start && at <= view.stop && column >= 0 && column < grid.columns;
    const { unit } = this.#quantity;
    const write = (/** @type {number} */ value) => (Number.isNaN(value) ? "unknown" : unit.write(value));
    const { low, middle, high } = this.#quantiles;
    const all = isInside && !Number.isNaN(middle[column]);
    const chosen = this.#chosenRow;
    const cellOf = (/** @type {number} */ row) => row * grid.columns + column;
    if (!this.#mouse) {
      this.#tooltip.hide();
      if (!all) return this.#readout.hide();
      const its = chosen < 0 ? [] : [[slotLabel(grid.slots[chosen]), write(values[cellOf(chosen)])]];
      const range = `${write(middle[column])} (${write(low[column])} – ${write(high[column])})`;
      const shown = /** @type {[string, string][]} */ ([...its, ["median, 5 % to 95 %", range]]);
      return this.#readout.show(
        this.#x(at),
        this.#surface.canvas.offsetTop,
        at - view.start > (view.stop - view.start) / 2,
        shown,
      );
    }
    this.#readout.hide();
    const row = this.#rowAt(this.#mouse.x, this.#mouse.y);
    /** @type {[string, string][]} */
    const lines = [];
    if (row !== null) {
      lines.push(["host", hostOf(grid.slots[row])]);
      if (this.#grouping !== NO_GROUPS && this.#grouping !== HOST)
        lines.push([this.#grouping, groupOf(grid.slots[row], this.#grouping)]);
      if (isInside) lines.push([this.#quantity.label, write(values[cellOf(row)])]);
      if (isInside && prefixes?.[cellOf(row)])
        lines.push(["prefix", this.#context.model.prefixName(prefixes[cellOf(row)])]);
      lines.push(["in the window", write(this.#values[row])]);
    }
    if (all)
      lines.push(
        ["all: median", write(middle[column])],
        ["all: 5 % to 95 %", `${write(low[column])} – ${write(high[column])}`],
      );
    if (!lines.length) return this.#tooltip.hide();
    const time = isInside ? formatTime(grid.startOf(column), 1) : "";
    const title = [row === null ? "" : slotLabel(grid.slots[row]), time].filter(Boolean).join(" · ");
    this.#tooltip.show(this.#mouse.x, this.#mouse.y, title, lines);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const box = this.#surface.canvas.getBoundingClientRect();
    const row = this.#rowAt(event.clientX - box.left, event.clientY - box.top);
    if (row === null) return;
    event.preventDefault();
    this.#select(row === this.#chosenRow ? null : row);
  }

  /** @param {number|null} row of the cells */
  #select(row) {
    const slot = row === null ? null : this.#cells?.grid.slots[row];
    this.#context.selection.set({ worker: slot ? newest(slot).id : null, prefix: null, key: null });
  }

  /** Arrow keys go from row to row. @param {KeyboardEvent} event */
  #press(event) {
    const { order } = this.#arrangement;
    const place = order.indexOf(this.#chosenRow);
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + PAGE,
      PageUp: place - PAGE,
      Home: 0,
      End: order.length - 1,
    };
    const next = places[event.key];
    if (next === undefined || !order.length) return;
    event.preventDefault();
    this.#select(order[Math.min(Math.max(next, 0), order.length - 1)]);
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    const view = this.#view;
    if (!this.#cells || !view) return { columns: [], rows: [] };
    return heatTable(
      this.#cells,
      this.#quantity,
      this.#arrangement.order,
      this.#values,
      this.#grouping,
      view,
    );
  }

  /** @param {number} time @returns {number} px */
  #x(time) {
    const { start, stop, width } = /** @type {View} */ (this.#view);
    return leftGutter() + ((time - start) / (stop - start)) * width;
  }

  /** @param {number} x px */
  #timeAt(x) {
    const { start, stop, width } = /** @type {View} */ (this.#view);
    return start + ((x - leftGutter()) / width) * (stop - start);
  }
}

/**
 * @param {import("../../types.js").Tile[]} tiles
 * @param {View} view
 * @returns {[start: number, stop: number]}
 */
function reachOf(tiles, { start, stop }) {
  return [
    Math.min(start, ...tiles.map((tile) => tile.start)),
    Math.max(stop, ...tiles.map((tile) => tile.stop)),
  ];
}
