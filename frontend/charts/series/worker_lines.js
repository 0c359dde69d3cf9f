// A line for each worker of the window, in the worker's colour. Where there are too many workers, it is one band from
// the least to the greatest value of all, and the line of the selected worker.

import { formatCount } from "../../formatting.js";
import { bandLayer, togetherLayer } from "../../timeline/tiles/bands.js";
import { workerLabel } from "../task_stream/lane_rows.js";
import { workerColor } from "../drawing/palette.js";
import { theme } from "../drawing/theme.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("../../types.js").Worker} Worker */
/** @typedef {import("./series_chart.js").Line} Line */

/**
 * The layers that `workerLines` draws.
 * @param {string} layer
 * @returns {(context: Context) => string[]}
 */
export function workerLayers(layer) {
  return (context) => {
    if (context.model.bands === 1) return [layer];
    return [togetherLayer(layer), ...selectedLayers(layer)(context)];
  };
}

/**
 * The layer that has the selected worker's series.
 * @param {string} layer
 * @returns {(context: Context) => string[]}
 */
export function selectedLayers(layer) {
  return ({ model, selection }) => (selection.worker === null ? [] : [bandLayer(layer, model.bandOf(selection.worker))]);
}

/**
 * @param {Context} context
 * @param {View} view
 * @param {string} layer
 * @param {(series: Series) => boolean} isWanted
 * @param {number} [scale]
 * @returns {Line[]}
 */
export function workerLines(context, view, layer, isWanted, scale = 1) {
  const { model, selection } = context;
  const there = model.workersBetween(view.start, view.stop);
  const all = model.seriesOf(layer).filter((one) => one.worker !== null);
  const series = all.filter(isWanted);
  if (model.bands === 1) return linesOf(context, there, series, scale);
  const selected = there.filter((worker) => worker.id === selection.worker);
  const label = `${formatCount(there.length)} workers: mean, least and most`;
  const kinds = new Set(series.map(kindOf));
  const firsts = [...new Map(all.map((one) => /** @type {const} */ ([kindOf(one), one])).reverse()).entries()];
  const lines = firsts
    .filter(([kind]) => kinds.has(kind))
    .map(([, one]) => ({ series: together(one), label, color: theme().accent, worker: null, scale }));
  return [...lines, ...linesOf(context, selected, series, scale)];
}

/** @param {Series} series */
function kindOf(series) {
  return `${series.metric} ${JSON.stringify(series.labels)}`;
}

/**
 * The series that stands for those of all workers.
 * @param {Series} series the first of its metric and labels
 * @returns {Series}
 */
export function together(series) {
  return { ...series, id: -series.id, worker: null };
}

/**
 * @param {Context} context
 * @param {Worker[]} workers
 * @param {Series[]} series
 * @param {number} scale
 * @returns {Line[]}
 */
function linesOf({ model }, workers, series, scale) {
  const order = new Map([...model.workers.keys()].map((id, index) => [id, index]));
  const byWorker = new Map(series.map((one) => [one.worker, one]));
  return workers.flatMap((worker) => {
    const found = byWorker.get(worker.id);
    if (!found) return [];
    const color = workerColor(order.get(worker.id) ?? 0);
    return [{ series: found, label: workerLabel(worker), color, worker: worker.id, scale }];
  });
}
