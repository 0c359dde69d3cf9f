// The colours of a run's prefixes: near Dask's own, but apart from each other, and visible on the theme's backgrounds.
//
// Dask chooses a prefix's colour from 18 by a hash, so two prefixes of a run can have the same or neighbouring ones, and some
// of them are hardly visible on a light or a dark background.

import { toLab } from "./oklab.js";
import { APART, CLOSER, colorsOn, nearestFree } from "./spacing.js";

/** @typedef {import("./oklab.js").Rgb} Rgb */
/** @typedef {import("./spacing.js").Color} Color */
/**
 * `color` is Dask's, "#rrggbb"; `is_other`: in the window of a run, only other runs submitted tasks of it.
 * @typedef {{id: number, name: string, color: string, seconds?: number, is_other?: boolean}} Prefix
 */

/** What other runs did on the same cluster; no prefix of a run is gray. */
export const OF_OTHER_RUNS = "#888888";

/** So many prefixes, the busiest, have colours that are well apart. */
export const MOST_SPACED = 12;
const MOST = 60; // prefixes that are kept apart from each other at all
/** @type {Rgb} what erred is black */
const BLACK = [0, 0, 0];

/** Colours by name, so that several timelines can share them. A colour that a prefix once has it keeps. */
export class PrefixColors {
  /** whether Dask's exact colours are shown */
  isExact = false;
  /** @type {Map<string, string>} Dask's */
  #exact = new Map();
  /** @type {Map<string, string>} */
  #spaced = new Map();
  /** @type {Rgb[]} none: not known, so that Dask's are shown */
  #backgrounds = [];
  /** @type {readonly Color[]} */
  #choice = [];
  /** @type {import("./oklab.js").Lab[]} */
  #taken = [];
  /** @type {Map<string, string>} by Dask's colour: that of the prefixes that are not kept apart */
  #shared = new Map();
  /** @type {Set<string>} names */
  #ofOtherRuns = new Set();

  /**
   * @param {string} name of a prefix
   * @returns {string|undefined} undefined for one that was not added
   */
  of(name) {
    if (this.isExact) return this.#exact.get(name);
    return this.#ofOtherRuns.has(name) ? OF_OTHER_RUNS : (this.#spaced.get(name) ?? this.#exact.get(name));
  }

  /**
   * Gives colours to prefixes that have none: the busiest first, those in the order in which they appeared. So live pages,
   * replays, links and files agree.
   * @param {Prefix[]} prefixes
   */
  add(prefixes) {
    const added = prefixes.filter(({ name }) => !this.#exact.has(name));
    for (const { name, color, is_other } of inOrder(added)) {
      this.#exact.set(name, color);
      if (is_other) this.#ofOtherRuns.add(name);
      this.#place(name, color);
    }
  }

  /** @param {Rgb[]} backgrounds on which all colours have to be seen */
  setBackgrounds(backgrounds) {
    if (JSON.stringify(backgrounds) === JSON.stringify(this.#backgrounds)) return;
    this.#backgrounds = backgrounds;
    this.#choice = colorsOn(backgrounds);
    this.#taken = [toLab(BLACK)];
    this.#spaced.clear();
    this.#shared.clear();
    for (const [name, color] of this.#exact) this.#place(name, color);
  }

  /**
   * @param {string} name
   * @param {string} color Dask's
   */
  #place(name, color) {
    if (!this.#backgrounds.length || this.#ofOtherRuns.has(name)) return;
    const place = this.#spaced.size;
    this.#spaced.set(
      name,
      place < MOST ? this.#kept(color, place < MOST_SPACED ? APART : CLOSER) : this.#sharedBy(color),
    );
  }

  /**
   * @param {string} color Dask's
   * @param {number} apart its distance from the colours that were kept before
   */
  #kept(color, apart) {
    const { rgb, lab } = nearestFree(parse(color), this.#choice, this.#backgrounds, this.#taken, apart);
    this.#taken.push(lab);
    return format(rgb);
  }

  /** @param {string} color Dask's */
  #sharedBy(color) {
    let shared = this.#shared.get(color);
    if (!shared) {
      shared = format(nearestFree(parse(color), this.#choice, this.#backgrounds, [], CLOSER).rgb);
      this.#shared.set(color, shared);
    }
    return shared;
  }
}

/**
 * @param {Prefix[]} prefixes
 * @returns {Prefix[]}
 */
function inOrder(prefixes) {
  const byId = [...prefixes].sort((one, other) => one.id - other.id);
  const busiest = new Set(
    [...byId].sort((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0)).slice(0, MOST_SPACED),
  );
  return [...byId.filter((prefix) => busiest.has(prefix)), ...byId.filter((prefix) => !busiest.has(prefix))];
}

/** @param {string} color "#rrggbb" @returns {Rgb} */
function parse(color) {
  const number = Number.parseInt(color.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** @param {Rgb} rgb */
function format(rgb) {
  return `#${rgb.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}
