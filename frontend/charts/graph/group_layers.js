// What groups computed over time as layers: those that took longest, and the others as one.

/** @typedef {import("../../types.js").Schemas["GroupGraph"]} GroupGraph */
/** `prefix` is null for the others. `values` has one for each bin. @typedef {{name: string, prefix: number|null, values: number[]}} GroupLayer */
/** @typedef {{start: number, width: number, bins: number, stop: number, groups: GroupLayer[], highest: number}} Layers */

const MOST = 9;

/**
 * @param {GroupGraph} graph
 * @param {"done"|"busy"} quantity tasks done since the window's start by the end of each bin, or threads that were busy in it
 * @param {number|null} chosen id of the selected prefix, whose groups come first
 * @returns {Layers}
 */
export function layersOf({ groups, work, stop, start }, quantity, chosen) {
  const order = groups
    .map(({ seconds, prefix }, place) => ({ place, seconds, isChosen: prefix === chosen }))
    .filter(({ place, seconds }) => seconds > 0 || groups[place].computed > 0)
    .sort((one, other) => Number(other.isChosen) - Number(one.isChosen) || other.seconds - one.seconds);
  const most = order.length > MOST + 1 ? MOST : order.length;
  const layerOf = new Map(order.map(({ place }, rank) => [place, Math.min(rank, most)]));
  const named = order.slice(0, most).map(({ place }) => ({
    name: groups[place].name,
    prefix: /** @type {number|null} */ (groups[place].prefix),
    values: empty(work.bins),
  }));
  const layers =
    order.length > most
      ? [...named, { name: `${order.length - most} others`, prefix: null, values: empty(work.bins) }]
      : named;
  work.bin.forEach((bin, row) => {
    const layer = layers[layerOf.get(work.group[row]) ?? -1];
    if (layer) layer.values[bin] += quantity === "done" ? work.tasks[row] : work.seconds[row];
  });
  for (const { values } of layers) {
    for (let bin = 0; bin < work.bins; bin++) {
      if (quantity === "done") values[bin] += bin ? values[bin - 1] : 0;
      else values[bin] /= lengthOf(bin, work, start, stop);
    }
  }
  const sums = empty(work.bins).map((_, bin) => layers.reduce((sum, { values }) => sum + values[bin], 0));
  return {
    start: work.start,
    width: work.width,
    bins: work.bins,
    stop,
    groups: layers,
    highest: Math.max(0, ...sums),
  };
}

/** Seconds of a bin within the window. @param {number} bin @param {{start: number, width: number}} binned @param {number} first @param {number} stop */
function lengthOf(bin, { start, width }, first, stop) {
  return Math.max(Math.min(start + (bin + 1) * width, stop) - Math.max(start + bin * width, first), 1e-6);
}

/** @param {number} bins @returns {number[]} */
function empty(bins) {
  return Array.from({ length: bins }, () => 0);
}
