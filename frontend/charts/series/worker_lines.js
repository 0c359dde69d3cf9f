// A line for each worker of the window, in the worker's colour. Where there are too many workers, it is one band from
// the least to the greatest value of all, and the line of the selected worker.

import { GPU_LABELS } from "../../contract.js";
import { formatCount } from "../../formatting.js";
import { bandLayer, togetherLayer } from "../../timeline/tiles/bands.js";
import { slotLabel } from "../../timeline/slots.js";
import { workerColor } from "../drawing/palette.js";
import { theme } from "../drawing/theme.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("../../timeline/slots.js").Slot} Slot */
/** @typedef {import("./series_chart.js").Line} Line */

const MOST_BANDS = 2; // with a line for each of their workers

/**
 * The layers that `workerLines` draws.
 * @param {string} layer
 * @returns {(context: Context) => string[]}
 */
export function workerLayers(layer) {
  return (context) => {
    const { model, timeline } = context;
    if (haveLines(context, timeline))
      return model.bandsBetween(timeline.start, timeline.stop).map((band) => bandLayer(layer, band));
    return [togetherLayer(layer), ...selectedLayers(layer)(context)];
  };
}

/**
 * Whether the workers of a window are few enough for a line each.
 * @param {Context} context
 * @param {{start: number, stop: number}} window
 */
export function haveLines({ model }, { start, stop }) {
  return model.bandsBetween(start, stop).length <= MOST_BANDS;
}

/**
 * The layers that have the selected worker's series.
 * @param {string} layer
 * @returns {(context: Context) => string[]}
 */
export function selectedLayers(layer) {
  return ({ model, selection }) => {
    const bands = new Set(model.lifetimesOf(selection.worker).map((worker) => model.bandOf(worker)));
    return [...bands].map((band) => bandLayer(layer, band));
  };
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
  const there = model.slotsBetween(view.start, view.stop);
  const all = model.seriesOf(layer).filter((one) => one.worker !== null);
  const series = all.filter(isWanted);
  if (haveLines(context, view)) return linesOf(context, there, series, scale);
  const chosen = model.slotOf(selection.worker)?.key;
  const selected = there.filter((slot) => slot.key === chosen);
  const label = `${formatCount(there.length)} workers: mean, least and most`;
  const kinds = new Set(series.map(kindOf));
  const firsts = [
    ...new Map(all.map((one) => /** @type {const} */ ([kindOf(one), one])).reverse()).entries(),
  ];
  const lines = firsts
    .filter(([kind]) => kinds.has(kind))
    .map(([, one]) => ({
      series: [together(one)],
      label,
      color: theme().accent,
      slot: null,
      isAll: true,
      scale,
    }));
  return [...lines, ...linesOf(context, selected, series, scale)];
}

/** @param {Series} series; those of all GPUs are of one kind */
function kindOf({ metric, labels }) {
  return `${metric} ${JSON.stringify(Object.entries(labels).filter(([name]) => !GPU_LABELS.includes(name)))}`;
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
 * @param {Slot[]} slots
 * @param {Series[]} series
 * @param {number} scale
 * @returns {Line[]} one for each slot, of the series of all its lifetimes; of a worker with several GPUs one for each
 */
function linesOf({ model }, slots, series, scale) {
  const order = new Map([...model.slots.keys()].map((key, index) => [key, index]));
  const byWorker = grouped(series, ({ worker }) => worker);
  const gpus = slots.map((slot) => gpusOf(slot.lifetimes.flatMap(({ id }) => byWorker.get(id) ?? [])));
  const haveSeveral = gpus.some((its) => its.length > 1);
  const before = gpus.map((_, place) => gpus.slice(0, place).reduce((sum, its) => sum + its.length, 0));
  return slots.flatMap((slot, place) =>
    gpus[place].map((found, number) => {
      const color = workerColor(haveSeveral ? before[place] + number : (order.get(slot.key) ?? 0));
      const name = gpus[place].length > 1 ? ` GPU ${found[0].labels.gpu ?? ""}` : "";
      return { series: found, label: `${slotLabel(slot)}${name}`, color, slot: slot.key, scale };
    }),
  );
}

/**
 * @param {Series[]} series of the lifetimes of a worker, in order of time
 * @returns {Series[][]} those of each of its GPUs, by their numbers; else all of them
 */
function gpusOf(series) {
  const byGpu = grouped(series, ({ labels }) => labels.device ?? "");
  if (byGpu.size > 1) byGpu.delete(""); // Dask's of the first one, until the worker's agent read all of them
  const sorted = [...byGpu.values()].sort(([one], [other]) => compareNumbers(one, other));
  return sorted.map((its) => [...new Map(its.map((one) => [one.worker, one])).values()]);
}

/**
 * @param {Series} one
 * @param {Series} other
 */
function compareNumbers({ labels: { gpu = "" } }, { labels }) {
  return gpu.localeCompare(labels.gpu ?? "", "en", { numeric: true });
}

/**
 * @template Key
 * @param {Series[]} series
 * @param {(one: Series) => Key} keyOf
 * @returns {Map<Key, Series[]>}
 */
function grouped(series, keyOf) {
  /** @type {Map<Key, Series[]>} */
  const groups = new Map();
  for (const one of series) {
    const group = groups.get(keyOf(one));
    if (group) group.push(one);
    else groups.set(keyOf(one), [one]);
  }
  return groups;
}
