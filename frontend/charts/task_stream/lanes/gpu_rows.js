// The utilization of a worker's GPUs, in a row below its threads: what the GPU did while they worked.

import { formatPercent } from "../../../formatting.js";
import { contentOf } from "../../../timeline/tiles/tile_store.js";
import { theme } from "../../drawing/theme.js";
import { joinPoints, pointsOf, valueAt, visibleRuns } from "../../series/series_points.js";
import { haveLines, workerLayers } from "../../series/worker_lines.js";

/** @typedef {import("../../../types.js").Context} Context */
/** @typedef {import("../../../types.js").Series} Series */
/** @typedef {import("../../../types.js").View} View */
/** @typedef {import("../../series/series_points.js").Points} Points */
/** @typedef {import("../../../timeline/slots.js").Slot} Slot */
/** @typedef {import("./rows.js").Layout} Layout */

export const LAYER = "gpu";
export const UTILIZATION = "observatory_worker_gpu_utilization_percent";
const OPACITY = 0.55;
const NAMED = 11; // px: rows from this height on say what they are
const FONT = "9px system-ui, sans-serif";

/** @param {Context} context @returns {Series[]} */
function utilizations({ model }) {
  return model.seriesOf(LAYER).filter(({ metric, worker }) => metric === UTILIZATION && worker !== null);
}

/**
 * The layers that the rows need; none where no worker has told how busy its GPU is.
 * @param {Context} context
 * @returns {string[]}
 */
export function gpuLayers(context) {
  return utilizations(context).length && haveLines(context, context.timeline)
    ? workerLayers(LAYER)(context)
    : [];
}

export class GpuRows {
  #context;
  #content = "";
  /** @type {Map<string, Points>} by slot */
  #points = new Map();

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  /**
   * What the rows are drawn from.
   * @param {View} view
   */
  content(view) {
    return contentOf(this.#tiles(view));
  }

  /**
   * Says which workers have a row; null: none has.
   * @returns {((slot: Slot) => boolean)|null}
   */
  get has() {
    if (!gpuLayers(this.#context).length) return null;
    const workers = new Set(utilizations(this.#context).map(({ worker }) => worker));
    return ({ lifetimes }) => lifetimes.some(({ id }) => workers.has(id));
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Layout} layout
   * @param {View} view
   * @param {(time: number) => number} x
   * @param {number} scroll px
   */
  draw(context, { rows, height }, view, x, scroll) {
    if (!rows.some(({ isGpu }) => isGpu)) return;
    this.#update(view);
    const colors = theme();
    rows.forEach(({ isGpu, slot }, number) => {
      if (!isGpu) return;
      const bottom = (number + 1) * height - scroll - 1;
      const points = this.#points.get(slot ?? "");
      context.fillStyle = colors.accent;
      context.globalAlpha = OPACITY;
      for (const [from, to] of points ? visibleRuns(points, view.start, view.stop) : [])
        fill(context, /** @type {Points} */ (points), [from, to], x, bottom, height - 2);
      context.globalAlpha = 1;
      if (height < NAMED) return;
      context.font = FONT;
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillStyle = colors.muted;
      context.fillText("GPU", x(view.start) + 3, bottom - height / 2 + 1);
    });
  }

  /**
   * @param {string|null} slot
   * @param {number} time
   * @returns {[string, string][]} what a row says of a time
   */
  describe(slot, time) {
    const points = this.#points.get(slot ?? "");
    const percent = points ? valueAt(points, time) : null;
    return [["busy", percent === null ? "unknown" : formatPercent(percent / 100)]];
  }

  /** @param {View} view */
  #tiles(view) {
    return gpuLayers(this.#context).flatMap((layer) => view.tiles[layer] ?? []);
  }

  /** @param {View} view */
  #update(view) {
    const tiles = this.#tiles(view);
    const { model, events } = this.#context;
    const gaps = events.sampleGaps;
    const series = utilizations(this.#context);
    const content = `${contentOf(tiles)} ${series.map(({ id }) => id)} ${JSON.stringify(gaps)}`;
    if (content === this.#content) return;
    this.#content = content;
    const found = pointsOf(tiles, new Map(series.map((one) => [one.id, one])), gaps);
    this.#points = new Map();
    for (const { key, lifetimes } of model.slotsBetween(view.start, view.stop)) {
      const parts = lifetimes.flatMap(({ id }) => {
        const gpus = series.filter(({ worker }) => worker === id).flatMap((one) => found.get(one.id) ?? []);
        return gpus.length ? [meanOf(gpus)] : [];
      });
      if (parts.length) this.#points.set(key, joinPoints(parts));
    }
  }
}

/**
 * @param {Points[]} gpus of one worker, which are read at nearly the same times
 * @returns {Points} at the times of the first one
 */
export function meanOf([first, ...others]) {
  if (!others.length) return first;
  const mean = first.mean.map((value, place) => {
    const values = [value, ...others.map((one) => valueAt(one, first.time[place] + first.reach / 4))];
    const known = values.filter((each) => each !== null);
    return known.reduce((sum, each) => sum + each, 0) / known.length;
  });
  return { ...first, mean, min: mean, max: mean, hasBand: false };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Points} points
 * @param {[number, number]} run first and last place
 * @param {(time: number) => number} x
 * @param {number} bottom px
 * @param {number} height px
 */
function fill(context, { time, mean }, [from, to], x, bottom, height) {
  context.beginPath();
  context.moveTo(x(time[from]), bottom);
  for (let at = from; at <= to; at++)
    context.lineTo(x(time[at]), bottom - (height * Math.min(mean[at], 100)) / 100);
  context.lineTo(x(time[to]), bottom);
  context.fill();
}
