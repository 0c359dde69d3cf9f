// The heat map: a row for each worker, a column for each few pixels of time, and the quantiles of all workers above.

import { element } from "../../element.js";
import { formatCountOf } from "../../formatting.js";
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
import { drawChosen, drawNames } from "./heat_names.js";
import { drawInside, drawLines, drawRows } from "./heat_painter.js";
import { describeSlot, groupings, peakOf } from "./heat_rows.js";
import { heatTable } from "./heat_table.js";
import { CellText, describeMost, write } from "./heat_text.js";
import { BANDS_HEIGHT, drawQuantiles, quantilesOf } from "./quantiles.js";
import { QUANTITIES, topOf } from "./quantities.js";
import { HeatOptions } from "./options.js";
import { ShownRows } from "./shown_rows.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./cells.js").Cells} Cells */

const VIEWER = "heat-map";
const MOST_CELLS = 150_000; // of all workers: more take megabytes, at two (memory) to nine (tasks) bytes a cell
const FINER = 2; // so that a column of eight bins has 4 to 8 px
const PAUSE = 500; // ms between two looks at the tiles: rows that jump at each frame couldn't be read
const GAP = 8; // px between the quantiles and the rows

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
  /** @type {ShownRows|null} */
  #rows = null;
  /** @type {HTMLCanvasElement|null} */
  #image = null;
  /** @type {HTMLCanvasElement|null} a line for each row that stands out */
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
      ? `${label} (${unit.name}) of ${formatCountOf(this.#rows?.order.length ?? 0, "worker")}`
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
    const { slots, columns } = cells.grid;
    const room = { height: Math.max(160, window.innerHeight * 0.4), ratio: this.#surface.ratio };
    const rows = (this.#rows = new ShownRows(cells, this.#quantity.isSum, this.#options, view, room));
    this.#controls.update(groupings(slots), rows.grouping);
    const peak = peakOf(cells, rows.order, view);
    this.#top = topOf(this.#quantity, peak);
    this.#controls.drawScale(this.#quantity, this.#top, peak > this.#top);
    const image = { columns, values: cells.values };
    this.#image = imageOf(image, rows.order, rows.layout.lines, this.#top);
    this.#namedImage = imageOf(image, rows.named, rows.named.length, this.#top);
  }

  /** @param {View} view */
  #paint(view) {
    const { context } = this.#surface;
    const left = leftGutter();
    const range = /** @type {[number, number]} */ ([left, left + view.width]);
    const rows = this.#rows;
    const hasValues = rows?.hasValues ?? false;
    const unloaded = this.#layers.flatMap((layer) => this.#context.tiles.unloaded(VIEWER, layer));
    const missing = unloadedWithin(unloaded, view.start, view.stop);
    this.#parent.classList.toggle("has-no-series", !hasValues);
    this.#empty.hidden = hasValues;
    this.#empty.textContent = missing ? missing.message : this.#quantity.empty;
    this.#stage.hidden = this.#controls.scale.hidden = !hasValues;
    const offset = BANDS_HEIGHT + GAP;
    this.#surface.clear(left + view.width + RIGHT_GUTTER, offset + (rows?.layout.height ?? 0) + 1);
    this.#stage.setAttribute("aria-valuemax", String(rows?.order.length ?? 0));
    if (!rows || !hasValues || !this.#cells || !this.#quantiles || !this.#image) return;
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
    const from = this.#x(grid.startOf(0));
    const area = {
      left,
      width: view.width,
      top: offset,
      from,
      columnsWidth: this.#x(grid.startOf(grid.columns)) - from,
    };
    const image = this.#image;
    drawInside(context, area, rows.layout.height, () => {
      drawRows(context, rows.layout, image, area);
      const tops = rows.named.map((row) => rows.topOfNamed(row));
      if (this.#namedImage) drawLines(context, this.#namedImage, tops, area);
      const records = this.#quantity.layer === "spans" ? "tasks" : "samples";
      const gaps = this.#context.events.gapsBetween(view.start, view.stop, records);
      const { height } = this.#surface;
      const at = (/** @type {number} */ time) => this.#x(time);
      drawGaps(context, gaps, at, range, 0, height, this.#context.timeline.end);
      drawUnloaded(context, unloaded, at, range, 0, height);
    });
    const place = { left, top: offset, width: view.width };
    drawNames(context, rows.layout, rows.arrangement, grid.slots, rows.named, place);
    drawChosen(context, rows.layout, rows.topOf(chosen), place);
    this.#describe(rows, chosen);
  }

  /** @returns {number} the row of the selected worker; -1 for none */
  get #chosenRow() {
    const { model, selection } = this.#context;
    const key = model.slotOf(selection.worker)?.key;
    return key === undefined ? -1 : (this.#cells?.grid.slots.findIndex((slot) => slot.key === key) ?? -1);
  }

  /**
   * The chart for those who can't see it.
   * @param {ShownRows} rows
   * @param {number} chosen
   */
  #describe({ order, values, grouping }, chosen) {
    const slots = this.#cells?.grid.slots ?? [];
    const { unit } = this.#quantity;
    const most = describeMost(slots, order, values, unit);
    this.#surface.canvas.setAttribute("aria-label", `Heat map: ${this.summary}${most}`);
    this.#stage.setAttribute("aria-valuenow", String(order.indexOf(chosen) + 1));
    const value =
      chosen < 0 ? "none" : `${describeSlot(slots[chosen], grouping)}: ${write(values[chosen], unit)}`;
    this.#stage.setAttribute("aria-valuetext", value);
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

  /** @param {number} x px @param {number} y px @returns {number|null} the row there */
  #rowAt(x, y) {
    if (!this.#cells || !this.#rows) return null;
    return this.#rows.rowAt(y - BANDS_HEIGHT - GAP, this.#cells.grid.columnAt(this.#timeAt(x)));
  }

  /** The values at the instant under the mouse, which may be on another chart. @param {View} view */
  #point(view) {
    const at = this.#mouse ? this.#timeAt(this.#mouse.x) : view.hover;
    if (at === null || !this.#cells || !this.#quantiles || !this.#rows) {
      this.#tooltip.hide();
      return this.#readout.hide();
    }
    const { grid } = this.#cells;
    const column = grid.columnAt(at);
    const isInside = at >= view.start && at <= view.stop && column >= 0 && column < grid.columns;
    const text = new CellText(this.#cells, this.#quantiles, this.#quantity, isInside ? column : null);
    if (!this.#mouse) {
      this.#tooltip.hide();
      const shown = text.ofAll(this.#chosenRow);
      if (!shown.length) return this.#readout.hide();
      const isRight = at - view.start > (view.stop - view.start) / 2;
      return this.#readout.show(this.#x(at), this.#surface.canvas.offsetTop, isRight, shown);
    }
    this.#readout.hide();
    const row = this.#rowAt(this.#mouse.x, this.#mouse.y);
    const { grouping, values } = this.#rows;
    const lines = text.ofRow(row, grouping, row === null ? NaN : values[row], this.#context.model);
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
    const next = this.#rows?.next(this.#chosenRow, event.key);
    if (next === undefined) return;
    event.preventDefault();
    this.#select(next);
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    const [view, rows] = [this.#view, this.#rows];
    if (!this.#cells || !rows || !view) return { columns: [], rows: [] };
    return heatTable(this.#cells, this.#quantity, rows.order, rows.values, rows.grouping, view);
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
