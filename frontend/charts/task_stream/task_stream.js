// The task stream: lanes × time, in Dask's colours. Zoomed out, it shows how busy each lane was.

import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { formatCountOf } from "../../formatting.js";
import { formatWorkers } from "../../timeline/slots.js";
import { wheelMove } from "../../timeline/controls/wheel.js";
import { contentOf } from "../../timeline/tiles/tile_store.js";
import { drawLabelledGaps, label } from "../drawing/gaps.js";
import { drawBarLabels } from "./bar_labels.js";
import { LaneControls } from "./lanes/controls.js";
import { GpuRows, gpuLayers } from "./lanes/gpu_rows.js";
import { LABEL_HEIGHT, drawGroup } from "./lanes/names.js";
import { LanePainter } from "./lanes/paint.js";
import { LaneTiles } from "./lanes/lane_tiles.js";
import { LaneReadout } from "./lanes/readout.js";
import { layoutLanes, placedRows } from "./lanes/rows.js";
import { drawUnloadedRows } from "./lanes/unloaded_rows.js";
import { drawLineage } from "./lineage_lines.js";
import { drawPath } from "./path_line.js";
import { drawLifetimes } from "./lanes/lifetimes.js";
import { StreamPointer } from "./pointer.js";
import { StreamLegend } from "./stream_legend.js";
import { streamTable } from "./stream_table.js";
import { Shown } from "../drawing/shown.js";
import { Surface } from "../drawing/surface.js";
import { rgb, theme } from "../drawing/theme.js";
import { LaneOptions } from "./options.js";
import { CriticalPath } from "../critical_path/data.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./lanes/rows.js").Layout} Layout */
/** @typedef {import("./lanes/rows.js").Group} Group */

const LABEL_WIDTH = 44; // px: bars from this width on are labelled
const SHORTEST = 48; // px of the whole chart
const [SHARE, FILLING_SHARE] = [0.5, 0.4]; // of the window's height
const LONGEST_PAINTING = 50; // ms of the first one in a frame

/** @type {Chart} */
export const taskStream = {
  name: "task-stream",
  title: "Task stream",
  place: "timeline",
  layers: gpuLayers, // the rows in sight decide which others: see cover
  options: [LaneOptions],
  commands: [{ does: "scroll the rows of the task stream", gestures: ["Alt + wheel"] }],
  help:
    "A row for each thread of each worker; ▼ marks where its process ended, and a restarted one goes on in the same row. " +
    "Compute has the task prefix's colour, near Dask's own; transfers are red, disk is orange, " +
    "serialization gray, erred tasks black, each with stripes of its own. Tasks of prefixes that only other runs submitted are gray. A task over five times as long as " +
    "the median of its prefix has dashed edges, one that is computed again has stripes at its left edge, a stolen one a corner. Zoomed out, a row is filled by the share of time that it was busy. " +
    "A label marks the rows of workers by their release, a resource or another label with a number and colour; click a value to see its workers only. " +
    "Where the GPUs of workers are recorded, a row below a worker's threads shows how busy its GPUs are. " +
    "Click a task to light up what it was made of and what was made of it. With many threads, a row stands for a worker or a host, and is full when all its threads are busy.",
  create: (element, context) => new TaskStream(element, context),
};

class TaskStream {
  #element;
  #context;
  #surface;
  #painter;
  #sources; // of what the painter reads beside rows, tiles and window
  #forget = () => this.#painter.forget();
  #pointer;
  #readout;
  #gpus;
  #stage = document.createElement("div");
  #scroller = document.createElement("div");
  #scroll = 0; // px; asking the scroller in each frame would lay the page out
  #spacer = document.createElement("div");
  /** @type {Layout} */
  #layout = { groups: [], rows: [], height: 1 };
  #controls;
  #legend;
  #height = 0;
  /** @type {View|null} */
  #view = null;
  #tiles;
  #shown = new Shown();
  #hasPainted = false;
  #isMarkedLater = false;
  #fills = false;
  /** @type {number|null} px that a person chose */
  #chosenHeight = null;

  /**
   * @param {HTMLElement} element
   * @param {Context} context
   */
  constructor(element, context) {
    this.#context = context;
    this.#tiles = new LaneTiles(context);
    this.#gpus = new GpuRows(context);
    this.#controls = new LaneControls(context);
    this.#controls.addEventListener("change", () => this.#arrange());
    this.#stage.className = "task-stream";
    this.#legend = new StreamLegend(context);
    element.append(this.#controls.bar, this.#controls.labels.list, this.#legend.list, this.#stage);
    this.#element = element;
    element = this.#stage;
    this.#surface = new Surface(element, "Task stream: what each thread of each worker did");
    this.#painter = new LanePainter(context);
    const { model, selection, stragglers, attempts, stolen, lineage } = context;
    this.#sources = [model, selection, stragglers, attempts, stolen, lineage];
    for (const source of this.#sources) source.addEventListener("change", this.#forget);
    this.#scroller.className = "lane-scroller";
    this.#scroller.append(this.#spacer);
    element.append(this.#scroller);
    const shown = () => ({ view: this.#view, layout: this.#layout, scroll: this.#scroll });
    this.#pointer = new StreamPointer(element, this.#surface.canvas, context, {
      tiles: this.#tiles,
      gpus: this.#gpus,
      controls: this.#controls,
      shown,
    });
    this.#readout = new LaneReadout(element, context.model);
    this.#scroller.addEventListener("scroll", () => {
      this.#scroll = this.#scroller.scrollTop;
      this.#redraw();
    });
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  destroy() {
    this.hide();
    for (const source of this.#sources) source.removeEventListener("change", this.#forget);
    this.#element.replaceChildren();
  }

  hide() {
    this.#tiles.release();
  }

  /** @param {View} view */
  draw(view) {
    const before = this.#view;
    this.#view = view;
    if (this.#pointer.isOver) this.#readout.hide();
    else
      this.#readout.show(
        view,
        this.#rowsInSight().flatMap((row) => row.lanes),
        this.#tiles.all,
      );
    if (
      before?.tiles === view.tiles &&
      !this.isPartial &&
      (before.state === view.state || !this.#controls.needsState)
    )
      return;
    this.cover(view); // what has come decides which rows there are
    if (!this.#isChanged(view)) return this.#goOn(view);
    this.#layOut(view);
    this.#isMarkedLater = !this.#hasPainted && this.#tiles.all.length > 0 && this.#layout.rows.length > 0;
    if (!this.#isMarkedLater) this.#findMarked(view);
    this.#redraw();
  }

  /**
   * Paints what the frame before has left.
   * @param {View} view
   */
  #goOn(view) {
    if (!this.#painter.isWhole) return this.#redraw();
    if (!this.#isMarkedLater) return;
    this.#isMarkedLater = false;
    if (!this.#findMarked(view)) return;
    this.#painter.forget();
    this.#redraw();
  }

  /**
   * Whether rows or marks are left for the next frame: the first painting takes a browser, which has not compiled it,
   * longest.
   */
  get isPartial() {
    return !this.#painter.isWhole || this.#isMarkedLater;
  }

  /**
   * @param {View} view
   * @returns {boolean} whether there is any so far
   */
  #findMarked({ start, stop }) {
    const { stragglers, attempts, stolen } = this.#context;
    stragglers.update(this.#tiles.all, start, stop, this.#tiles.areSums);
    attempts.update(this.#tiles.all);
    stolen.update();
    return stragglers.list.length + attempts.size > 0;
  }

  /**
   * Whether anything that is drawn is another than before: painting takes long.
   * @param {View} view
   */
  #isChanged(view) {
    const { start, stop, width, revision, state } = view;
    const [content, unloaded] = [
      contentOf(this.#tiles.all),
      JSON.stringify(this.#tiles.unloaded(this.#tiles.layers)),
    ];
    return this.#shown.changes(
      start,
      stop,
      width,
      revision,
      this.#controls.needsState ? state : null,
      content,
      unloaded,
      this.#gpus.content(view),
    );
  }

  /** @param {{height: number|null, fills: boolean}} size `fills`: rows are as high as its share of the window allows */
  resize({ height, fills }) {
    if (fills === this.#fills && height === this.#chosenHeight) return;
    this.#fills = fills;
    this.#chosenHeight = height;
    this.#arrange();
  }

  /** @param {View} view */
  #layOut(view) {
    const fills = this.#fills || this.#chosenHeight !== null;
    const share = window.innerHeight * (fills ? FILLING_SHARE : SHARE);
    const room = this.#chosenHeight ?? Math.max(160, share);
    const wishes = { ...this.#controls.wishes(view, this.#tiles.all), hasGpu: this.#gpus.has, fills };
    this.#layout = layoutLanes(this.#context.model, view.start, view.stop, room, wishes);
    this.#controls.update(this.#layout);
    this.#legend.draw();
    const total = this.#layout.rows.length * this.#layout.height;
    this.#height = Math.max(Math.min(total, Math.ceil(room)), SHORTEST);
    this.#stage.style.height = `${this.#height}px`;
    this.#spacer.style.height = `${total}px`;
    if (total <= this.#height && this.#scroll) this.#scroller.scrollTop = this.#scroll = 0; // it keeps its place while it is hidden
    this.#scroller.hidden = total <= this.#height;
  }

  #arrange() {
    if (this.#view) this.#layOut(this.#view);
    this.#redraw();
  }

  #redraw() {
    const view = this.#view;
    if (!view) return;
    this.cover(view); // other rows may be in sight
    const left = leftGutter();
    const colors = theme();
    const { context } = this.#surface;
    this.#surface.clear(left + view.width + RIGHT_GUTTER, this.#height);
    if (!this.#layout.rows.length) {
      this.#painter.forget();
      const kept = this.#controls.labels.keep
        ? "no workers with this label in this window"
        : "no workers in this window";
      return label(context, kept, left, left + view.width, this.#height / 2, colors.muted);
    }
    this.#paintLanes(view, left);
    context.save();
    context.beginPath();
    context.rect(left, 0, view.width, this.#height);
    context.clip();
    this.#gpus.draw(context, this.#layout, view, this.#x, this.#scroll);
    const range = /** @type {[number, number]} */ ([left, left + view.width]);
    const { events, timeline } = this.#context;
    const gaps = events.gapsBetween(view.start, view.stop, "tasks");
    drawLabelledGaps(context, gaps, this.#x, range, this.#height, timeline.end);
    this.#drawUnloaded(range);
    const { labelled } = this.#painter;
    if (this.#layout.height >= LABEL_HEIGHT)
      drawBarLabels(context, labelled, this.#context.model, left, this.#surface.ratio);
    for (const group of this.#layout.groups) this.#drawLifetimes(group, view, left);
    drawPath(context, this.#context.features.of(CriticalPath).pieces, this.#layout, this.#x, this.#scroll);
    drawLineage(context, this.#context.lineage, this.#layout, this.#x, this.#scroll);
    context.restore();
    for (const group of this.#layout.groups) this.#drawGroup(group, left, view.width);
    context.strokeStyle = colors.border;
    context.strokeRect(left - 0.5, 0.5, view.width + 1, this.#height - 1);
    const counts = `${formatCountOf(this.#layout.rows.length, "row")} of ${this.summary}`;
    this.#surface.canvas.setAttribute("aria-label", `Task stream: ${counts}`);
  }

  /**
   * Takes the tiles of the rows in sight, which in a large cluster are of some of its bands.
   * @param {View} view
   */
  cover(view) {
    // which rows are in sight is known before tiles are
    if (!this.#view && !this.#layout.rows.length && this.#context.model.isLarge) this.#layOut(view);
    this.#tiles.cover(view, this.#rowsInSight(), this.#controls.needsAll);
  }

  /** "3 workers (7 lifetimes)": those that have rows. */
  get summary() {
    const slots = new Set(this.#layout.groups.flatMap((group) => group.slots));
    return formatWorkers(
      slots.size,
      [...slots].reduce((sum, { lifetimes }) => sum + lifetimes.length, 0),
    );
  }

  /** Of the rows in sight. */
  table() {
    const lanes = new Set(this.#rowsInSight().flatMap((row) => row.lanes));
    return streamTable(
      this.#tiles.all,
      this.#context.model,
      [...lanes],
      this.#view ?? { start: 0, stop: 0 },
      this.#controls.labels.chosen,
    );
  }

  #rowsInSight() {
    const { rows, height } = this.#layout;
    return rows.slice(Math.floor(this.#scroll / height), Math.ceil((this.#scroll + this.#height) / height));
  }

  /**
   * @param {View} view
   * @param {number} left
   */
  #paintLanes(view, left) {
    const { ratio, context } = this.#surface;
    const [width, height] = [Math.round(view.width * ratio), Math.round(this.#height * ratio)];
    if (width < 1 || height < 1) return this.#painter.forget();
    const window = { start: view.start, stop: view.stop, width, height, labelWidth: LABEL_WIDTH * ratio };
    const rows = placedRows(this.#layout, this.#scroll, this.#height, ratio);
    const longest = this.#hasPainted && this.#painter.isWhole ? Infinity : LONGEST_PAINTING;
    this.#painter.paint(rows, this.#tiles.all, window, rgb(theme().plot), longest);
    this.#hasPainted ||= this.#tiles.all.length > 0;
    this.#stage.ariaBusy = this.#painter.isWhole ? null : "true";
    const { image } = this.#painter.pixels;
    if (image) context.putImageData(image, Math.round(left * ratio), 0);
  }

  /** @param {Group} group @param {View} view @param {number} left */
  #drawLifetimes({ slots, first, count }, view, left) {
    if (slots.length !== 1) return;
    const { height } = this.#layout;
    const range = /** @type {[number, number]} */ ([left, left + view.width]);
    const { context } = this.#surface;
    drawLifetimes(context, slots[0].lifetimes, this.#x, range, first * height - this.#scroll, count * height);
  }

  /** @param {[number, number]} range px */
  #drawUnloaded(range) {
    const place = { x: this.#x, range, scroll: this.#scroll, height: this.#height };
    drawUnloadedRows(this.#surface.context, this.#tiles, this.#layout, place);
  }

  /**
   * @param {Group} group
   * @param {number} left
   * @param {number} width
   */
  #drawGroup(group, left, width) {
    const { selection, model } = this.#context;
    const top = group.first * this.#layout.height - this.#scroll;
    const height = group.count * this.#layout.height;
    if (top + height < 0 || top > this.#height) return;
    const chosen = model.slotOf(selection.worker)?.key;
    drawGroup(this.#surface.context, group, { top, height, left, width }, this.#controls.labels, chosen);
  }

  /** @param {number} time @returns {number} px */
  #x = (time) => {
    const { start, stop, width } = /** @type {View} */ (this.#view);
    return leftGutter() + ((time - start) / (stop - start)) * width;
  };

  /** @param {WheelEvent} event; over the names, the wheel scrolls the lanes, and at their end the page */
  #wheel(event) {
    if (this.#scroller.hidden || wheelMove(event).does !== "scroll") return;
    const { left } = this.#surface.canvas.getBoundingClientRect();
    if (event.clientX - left >= leftGutter() && !event.altKey) return;
    const before = this.#scroller.scrollTop;
    this.#scroller.scrollTop += event.deltaY;
    if (this.#scroller.scrollTop === before) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
