// Which tiles a window wants, and which all charts want.

import { layerName } from "./bands.js";
import { finestLevel, levelFor, tileIndex, tileWidth } from "./levels.js";
import { tileKey } from "./tile_store.js";

/**
 * `near`: drawn in the window, not only beside it.
 * @typedef {{layer: string, level: number, index: number, key: string, near: boolean}} Place
 */
/** @typedef {{first: number, last: number, committed: number, version: number, ended: number|null}} Extent */

const EXACT_LAYERS = new Set(["spans", "prefixes", "events", "profile"]);
const PREFETCH = 0.1; // tiles beyond the window

/** What each viewer wants of each layer. */
export class WantedPlaces {
  /** @type {Map<string, Place[]>} by viewer and layer */
  #places = new Map();
  /** @type {{all: Place[], keys: Set<string>}|null} null: to be summed again */
  #sum = null;

  /**
   * @param {string} viewer
   * @param {string} layer
   * @param {Place[]} places instead of those before
   * @returns {boolean} whether any is another than before
   */
  set(viewer, layer, places) {
    const before = this.#places.get(`${viewer} ${layer}`) ?? [];
    this.#places.set(`${viewer} ${layer}`, places);
    this.#sum = null;
    return places.some(({ key }, number) => key !== before[number]?.key);
  }

  /** @param {string} viewer @param {string} layer */
  delete(viewer, layer) {
    if (this.#places.delete(`${viewer} ${layer}`)) this.#sum = null;
  }

  /** @param {string} key */
  has(key) {
    return this.#summed.keys.has(key);
  }

  /** Those of all viewers; several may want the same. */
  get all() {
    return this.#summed.all;
  }

  get #summed() {
    if (this.#sum) return this.#sum;
    const all = [...this.#places.values()].flat();
    return (this.#sum = { all, keys: new Set(all.map(({ key }) => key)) });
  }
}

/**
 * @param {string} layer
 * @param {number} start
 * @param {number} stop
 * @param {number} width of the window in px
 * @param {import("../../types.js").ClusterInfo} info
 * @param {Extent} extent
 * @returns {Place[]} those in the window and beside it, in order of time
 */
export function placesOf(layer, start, stop, width, info, extent) {
  // a line reaches the samples beyond the edges
  const reach = EXACT_LAYERS.has(layerName(layer)) ? 0 : 2 * info.metrics_interval;
  const level = Math.min(levelFor(stop - start, width, finestLevel(layer, info)), info.maximum_level);
  const margin = Math.max(reach, PREFETCH * tileWidth(level));
  const places = [];
  const last = tileIndex(Math.min(stop + margin, latestOf(extent)), level);
  for (let index = tileIndex(Math.max(start - margin, extent.first), level); index <= last; index++) {
    const near = (index + 1) * tileWidth(level) > start - reach && index * tileWidth(level) < stop + reach;
    places.push({ layer, level, index, key: tileKey(layer, level, index), near });
  }
  return places;
}

/** @param {Extent} extent @returns {number} the end of what there is; Infinity while the cluster lives */
export function latestOf({ ended, last }) {
  return ended === null ? Infinity : Math.max(ended, last);
}
