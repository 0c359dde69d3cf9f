// The overview of the whole cluster: busy threads by prefix, memory, events, and the brush of the window.

import { contentOf } from "../../timeline/tiles/tile_store.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { isOverlay } from "../task_stream/actions.js";
import { colorOfSlot, prefixOfSlot } from "../task_stream/busy_at.js";
import { drawBands } from "../alerts/bands.js";
import { Brush } from "./brush.js";
import { Coverage } from "../drawing/coverage.js";
import { Pixels } from "../drawing/pixels.js";
import { drawMarks } from "../events/marks.js";
import { drawGaps } from "../drawing/gaps.js";
import { addBusy, visitSpans } from "../task_stream/lanes/index.js";
import { Surface } from "../drawing/surface.js";
import { breaksOf } from "../series/series_points.js";
import { rgb, theme } from "../drawing/theme.js";
import { drawUnloaded } from "../drawing/unloaded.js";
import { joined } from "../../timeline/tiles/unloaded.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Tile} Tile */

const HEIGHT = 64;
const MARKS_HEIGHT = 12;
const MARK_SIZE = 9;
const BAND_HEIGHT = 4;
const LAYERS = ["events", "prefixes", "cluster-memory"];
const FAINTEST = 1; // px: what was busy at all stays visible
const DIMMED = 0.2; // prefixes that aren't selected
const MEMORY_METRIC = "observatory_cluster_memory_bytes";
const LIMIT_METRIC = "observatory_cluster_memory_limit_bytes";
/** The name under which the overview requests tiles. */
export const OVERVIEW = "overview";
const LIVE_INTERVAL = 1000; // ms: what moves with the present is drawn this often
const REACH = 4; // samples: points this close are joined in spite of a gap

export class Overview {
  #context;
  #surface;
  #brush;
  #coverage = new Coverage();
  #pixels = new Pixels();
  #start = 0;
  #stop = 1;
  #width = 1;
  #content = "";
  #drawnAt = -Infinity; // ms

  /**
   * @param {HTMLElement} element positioned
   * @param {Context} context
   */
  constructor(element, context) {
    this.#context = context;
    this.#surface = new Surface(element, "Overview: busy threads by task prefix, memory, events and alerts");
    this.#brush = new Brush(element, context.timeline, context.selection);
  }

  /**
   * @param {number} width of the plot in px
   * @param {boolean} whole whether something else than tiles changed
   * @param {boolean} tiles whether tiles changed, which may be others than those that are shown here
   */
  draw(width, whole, tiles) {
    const { timeline } = this.#context;
    this.#start = timeline.first;
    this.#stop = Math.max(timeline.end, timeline.first + 1);
    this.#width = width;
    const { live } = timeline;
    const isDue = live ? performance.now() - this.#drawnAt >= LIVE_INTERVAL : tiles;
    if (whole || isDue) this.#drawAll(whole || live);
    this.#brush.draw(leftGutter(), width, this.#start, this.#stop);
  }

  /** @param {number|null} hover the instant under the mouse */
  point(hover) {
    this.#brush.point(hover);
  }

  /**
   * Wishes for the tiles of the whole cluster.
   * @param {number} width of the plot in px
   */
  cover(width) {
    this.#width = width;
    return {
      events: this.#tiles("events"),
      prefixes: this.#tiles("prefixes"),
      memory: this.#tiles("cluster-memory"),
    };
  }

  /** @param {string} layer */
  #tiles(layer) {
    const { timeline, tiles } = this.#context;
    const stop = Math.max(timeline.end, timeline.first + 1);
    return tiles.cover(OVERVIEW, layer, timeline.first, stop, this.#width);
  }

  /** @param {boolean} whole false: only if the tiles hold something else than before */
  #drawAll(whole) {
    const found = this.cover(this.#width);
    const { tiles } = this.#context;
    const unloaded = joined(LAYERS.flatMap((layer) => tiles.unloaded(OVERVIEW, layer)));
    const content = contentOf(Object.values(found).flat()) + JSON.stringify(unloaded);
    if (!whole && content === this.#content) return;
    this.#content = content;
    this.#drawnAt = tiles.loading ? -Infinity : performance.now(); // what isn't complete is drawn again at once
    this.#context.events.load(found.events);
    const left = leftGutter();
    const { context } = this.#surface;
    const colors = theme();
    this.#surface.clear(left + this.#width + RIGHT_GUTTER, HEIGHT);
    this.#drawBusy(found.prefixes, left);
    const x = (/** @type {number} */ time) => this.#x(time) + left;
    drawUnloaded(context, unloaded, x, [left, left + this.#width], MARKS_HEIGHT, HEIGHT - MARKS_HEIGHT);
    this.#drawGaps(left);
    this.#drawMemory(found.memory, left);
    const {
      events: { list: events },
      alerts,
    } = this.#context;
    drawBands(context, alerts, alerts.list, x, [left, left + this.#width], MARKS_HEIGHT, BAND_HEIGHT);
    drawMarks(context, events, x, [left, left + this.#width], MARKS_HEIGHT / 2, MARK_SIZE);
    context.strokeStyle = colors.border;
    context.strokeRect(left + 0.5, MARKS_HEIGHT + 0.5, this.#width - 1, HEIGHT - MARKS_HEIGHT - 1);
    this.#drawNames(left);
  }

  /** @param {number} time; px from the plot's left */
  #x(time) {
    return ((time - this.#start) / (this.#stop - this.#start)) * this.#width;
  }

  /**
   * Columns as high as the share of all threads that computed.
   * @param {Tile[]} tiles
   * @param {number} left
   */
  #drawBusy(tiles, left) {
    const { model, selection } = this.#context;
    const { ratio, context } = this.#surface;
    const [coverage, pixels] = [this.#coverage, this.#pixels];
    const [top, bottom] = [MARKS_HEIGHT * ratio, HEIGHT * ratio].map(Math.round);
    pixels.clear(Math.max(Math.round(this.#width * ratio), 1), bottom - top, rgb(theme().plot));
    coverage.reset(this.#start, this.#stop, pixels.width);
    for (const tile of tiles) {
      visitSpans(tile, model, null, this.#start, this.#stop, (_, __, slot, from, to) => {
        if (!isOverlay(slot)) coverage.add(slot, from, to, to - from);
      });
      addBusy(coverage, tile, model, null, this.#start, this.#stop);
    }
    coverage.sortSlots();
    const threads = Math.max(model.peakThreads(this.#start, this.#stop), 1);
    const room = pixels.height - ratio;
    const scale = {
      bottom: pixels.height,
      room,
      share: room / (threads * coverage.step),
      least: FAINTEST * ratio,
      leastAbove: 0,
    };
    const heights = new Float64Array(coverage.columns);
    for (const slot of coverage.slots) {
      if (isOverlay(slot)) continue;
      const id = prefixOfSlot(slot, model);
      if (id !== undefined && selection.hidden.has(id)) continue;
      const alpha = selection.prefix === null || selection.prefix === id ? 1 : DIMMED;
      pixels.stack(coverage, slot, heights, scale, rgb(colorOfSlot(slot, model)), alpha);
    }
    if (pixels.image) context.putImageData(pixels.image, Math.round(left * ratio), top);
  }

  /** @param {number} left */
  #drawGaps(left) {
    const { context } = this.#surface;
    const gaps = this.#context.events.gapsBetween(this.#start, this.#stop);
    const x = (/** @type {number} */ time) => left + this.#x(time);
    drawGaps(context, gaps, x, [left, left + this.#width], MARKS_HEIGHT, HEIGHT - MARKS_HEIGHT, this.#stop);
  }

  /**
   * The memory of the workers' processes; the strip's height is their limit.
   * @param {Tile[]} tiles
   * @param {number} left
   */
  #drawMemory(tiles, left) {
    const series = this.#context.model.seriesOf("cluster-memory");
    const process = series.find((one) => one.metric === MEMORY_METRIC && one.labels.type === "process");
    const limit = series.find((one) => one.metric === LIMIT_METRIC);
    if (!process) return;
    const points = pointsOf(tiles, process.id);
    const top = (limit && highest(pointsOf(tiles, limit.id))) || highest(points) * 1.1 || 1;
    const { context } = this.#surface;
    const room = HEIGHT - MARKS_HEIGHT - 3;
    context.save();
    context.beginPath();
    context.rect(left, MARKS_HEIGHT, this.#width, HEIGHT - MARKS_HEIGHT);
    context.clip();
    context.beginPath();
    const reach = REACH * Math.max(process.interval, ...points.map(([, , step]) => step));
    const gaps = this.#context.events.sampleGaps.filter(({ worker }) => worker === null);
    const breaks = breaksOf(
      points.map(([time]) => time),
      reach,
      gaps,
    );
    for (const [place, [time, value]] of points.entries()) {
      const [x, y] = [left + this.#x(time), HEIGHT - 1.5 - (value / top) * room];
      if (breaks.has(place - 1)) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.lineJoin = "round";
    context.strokeStyle = theme().plot;
    context.lineWidth = 3.5;
    context.stroke();
    context.strokeStyle = theme().text;
    context.lineWidth = 1.5;
    context.stroke();
    context.restore();
  }

  /** @param {number} left */
  #drawNames(left) {
    if (left < 100) return;
    const { context } = this.#surface;
    const colors = theme();
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillStyle = colors.muted;
    context.fillText("threads busy", left - 8, HEIGHT / 2 + 4);
    context.fillText("memory", left - 26, HEIGHT / 2 + 20);
    context.strokeStyle = colors.text;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(left - 22, HEIGHT / 2 + 16);
    context.lineTo(left - 8, HEIGHT / 2 + 16);
    context.stroke();
    context.lineWidth = 1;
    context.textAlign = "start";
  }
}

/**
 * @param {Tile[]} tiles
 * @param {number} series
 * @returns {[number, number, number][]} time, the highest value, and the width of its bin; in order of time
 */
function pointsOf(tiles, series) {
  /** @type {[number, number, number][]} */
  const points = [];
  for (const tile of tiles) {
    for (const block of tile.blocks.get("bin") ?? []) {
      const [ids, times, values] = [block.numbers("series"), block.numbers("time"), block.numbers("max")];
      for (let row = 0; row < block.rows; row++) {
        if (ids[row] !== series || times[row] < tile.start || times[row] >= tile.stop) continue;
        points.push([times[row], values[row], tile.binWidth]);
      }
    }
  }
  return points.sort((one, other) => one[0] - other[0]);
}

/** @param {[number, number, number][]} points */
function highest(points) {
  return points.reduce((most, [, value]) => Math.max(most, value), 0);
}
