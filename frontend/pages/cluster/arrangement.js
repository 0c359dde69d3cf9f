// Which charts a tab shows, in which order and how high: as the address says, else as the person left it, else as the tab has them.

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../timeline/address.js").Address} Address */
/** @typedef {import("../../contract.js").TabName} TabName */
/** @typedef {{name: string, height: number|null}} Place `height` in px; null: the chart's own */

const KEY = "charts";
export const LOWEST = 60; // px of a chart
export const HIGHEST = 1200;

export class Arrangement {
  #address;
  #charts;

  /**
   * @param {Address} address
   * @param {() => Chart[]} charts of the open tab
   */
  constructor(address, charts) {
    this.#address = address;
    this.#charts = charts;
  }

  /** @returns {Place[]} in their order */
  get places() {
    return this.#address.charts?.map(placeOf) ?? this.#usual;
  }

  /** @returns {Place[]} */
  get #usual() {
    return this.#charts().map(({ name }) => ({ name, height: null }));
  }

  /** Whether it is another than the tab's own. */
  get isChanged() {
    return this.#address.charts !== undefined;
  }

  /** @param {Place[]} places @returns {boolean} */
  is(places) {
    return textsOf(places).join() === textsOf(this.places).join();
  }

  /** @param {string} name @returns {boolean} */
  has(name) {
    return this.places.some((place) => place.name === name);
  }

  /** @param {string} name @returns {number|null} px */
  heightOf(name) {
    return this.places.find((place) => place.name === name)?.height ?? null;
  }

  /**
   * Shows a chart where the tab has it, or last where it is another tab's.
   * @param {string} name
   */
  show(name) {
    const order = this.#usual.map((place) => place.name);
    const places = this.places;
    const before = order.slice(0, Math.max(order.indexOf(name), 0));
    const after = places.findLastIndex((place) => before.includes(place.name));
    places.splice(order.includes(name) ? after + 1 : places.length, 0, { name, height: null });
    this.set(places);
  }

  /** @param {string} name */
  hide(name) {
    this.set(this.places.filter((place) => place.name !== name));
  }

  /**
   * Moves a chart to where another one is.
   * @param {string} name
   * @param {string} other
   */
  move(name, other) {
    const places = this.places;
    const [from, to] = [name, other].map((one) => places.findIndex((place) => place.name === one));
    if (from < 0 || to < 0 || from === to) return;
    places.splice(to, 0, ...places.splice(from, 1));
    this.set(places);
  }

  /**
   * @param {string} name
   * @param {number} height px
   */
  resize(name, height) {
    const bounded = Math.round(Math.min(Math.max(height, LOWEST), HIGHEST));
    this.set(this.places.map((place) => (place.name === name ? { name, height: bounded } : place)));
  }

  /** As the tab has them. */
  reset() {
    this.set(this.#usual);
  }

  /** @param {Place[]} places */
  set(places) {
    const texts = textsOf(places);
    const isUsual = texts.join() === textsOf(this.#usual).join();
    this.#address.charts = isUsual ? undefined : texts;
    keep(this.#address.tab, this.#address.charts);
    this.#address.changed();
  }
}

/** @param {Place[]} places */
function textsOf(places) {
  return places.map(({ name, height }) => (height === null ? name : `${name}:${height}`));
}

/**
 * @param {string} text "name" or "name:height"
 * @returns {Place}
 */
function placeOf(text) {
  const [name, height] = text.split(":");
  return { name, height: height ? Math.min(Math.max(Number(height), LOWEST), HIGHEST) : null };
}

/**
 * The charts of a tab as the person left them, as the address writes them.
 * @param {TabName} tab
 * @returns {string[]|undefined} undefined: as the tab has them
 */
export function keptCharts(tab) {
  const kept = allKept()[tab];
  return Array.isArray(kept) ? kept.filter((text) => typeof text === "string") : undefined;
}

/**
 * @param {TabName} tab
 * @param {string[]|undefined} charts
 */
function keep(tab, charts) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...allKept(), [tab]: charts }));
  } catch {
    // storage is blocked: the choice is in the address only
  }
}

/** @returns {Record<string, unknown>} by tab */
function allKept() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return kept !== null && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}
