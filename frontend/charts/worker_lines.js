// Lines of workers: a series of each that was there in the window, in the worker's colour.

import { workerLabel } from "./lane_rows.js";
import { workerColor } from "./palette.js";

/** @typedef {import("../types.js").Context} Context */
/** @typedef {import("../types.js").View} View */
/** @typedef {import("../types.js").Series} Series */
/** @typedef {import("./series_chart.js").Line} Line */

/**
 * @param {Context} context
 * @param {View} view
 * @param {string} layer
 * @param {(series: Series) => boolean} isWanted
 * @param {number} [scale]
 * @returns {Line[]}
 */
export function workerLines(context, view, layer, isWanted, scale = 1) {
  const { model } = context;
  const order = new Map([...model.workers.keys()].map((id, index) => [id, index]));
  /** @type {Map<number, Series>} */
  const byWorker = new Map();
  for (const series of model.seriesOf(layer)) {
    if (series.worker !== null && isWanted(series)) byWorker.set(series.worker, series);
  }
  return model.workersBetween(view.start, view.stop).flatMap((worker) => {
    const series = byWorker.get(worker.id);
    if (!series) return [];
    const color = workerColor(order.get(worker.id) ?? 0);
    return [{ series, label: workerLabel(worker), color, worker: worker.id, scale }];
  });
}
