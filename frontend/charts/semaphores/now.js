// The semaphores and locks at the playhead as a table.

import { formatCount, formatDuration } from "../../formatting.js";
import { contentOf } from "../../timeline/tiles/tile_store.js";
import { DataTable } from "../data_table/data_table.js";
import { pointsOf, valueAt } from "../series/series_points.js";
import { LAYER, semaphoresOf } from "./leases.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./leases.js").Semaphore} Semaphore */
/** `waited` in seconds; null: unknown. @typedef {{name: string, most: number|null, active: number|null, pending: number|null, waited: number|null}} Row */

/** @type {Chart} */
export const semaphoresNow = {
  name: "semaphores-now",
  title: "Semaphores and locks",
  place: "below",
  layers: [LAYER],
  help:
    "Semaphores and locks at the playhead: how many leases each has, how many are in use, how many requests wait for one, and how long one was waited for " +
    "recently. Dask's scheduler knows leases by random ids, so neither it nor Observatory can tell which task holds one.",
  isThere: ({ model }) => semaphoresOf(model).length > 0,
  create: (parent, context) => new SemaphoresNow(parent, context),
};

class SemaphoresNow {
  #parent;
  #context;
  /** @type {DataTable<Row>} */
  #table;
  #content = "";
  /** @type {Map<number, import("../series/series_points.js").Points>} by series */
  #points = new Map();
  #shown = "";

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#table = new DataTable(
      parent,
      [
        { name: "name", title: "name", value: ({ name }) => name },
        {
          name: "leases",
          title: "leases",
          help: "Most leases at a time; a lock has one",
          value: ({ most }) => most,
          text: ({ most }) => formatCount(most ?? 0),
        },
        {
          name: "active",
          title: "in use",
          value: ({ active }) => active,
          text: ({ active }) => formatCount(active ?? 0),
        },
        {
          name: "pending",
          title: "waiting",
          help: "Requests that wait for a lease",
          value: ({ pending }) => pending,
          text: ({ pending }) => formatCount(pending ?? 0),
        },
        {
          name: "waited",
          title: "waited",
          unit: "s",
          help: "Recent mean time until a lease was acquired",
          value: ({ waited }) => waited,
          text: ({ waited }) => formatDuration(waited ?? 0),
        },
      ],
      {
        label: "semaphores",
        empty: "No semaphore was known at this time.",
        sorted: "pending",
        key: ({ name }) => name,
        find: ({ name }) => name,
      },
    );
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const found = semaphoresOf(this.#context.model);
    this.#takePoints(view, found);
    const rows = found
      .map((semaphore) => this.#row(semaphore, view.playhead))
      .filter(({ active, pending }) => active !== null || pending !== null);
    const shown = JSON.stringify(rows);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#table.show(rows);
  }

  table() {
    return this.#table.table();
  }

  /**
   * @param {View} view
   * @param {Semaphore[]} found
   */
  #takePoints(view, found) {
    const tiles = view.tiles[LAYER] ?? [];
    const gaps = this.#context.events.sampleGaps;
    const content = `${contentOf(tiles)} ${found.length} ${JSON.stringify(gaps)}`;
    if (content === this.#content) return;
    this.#content = content;
    const series = found.flatMap(({ most, active, pending, waited }) =>
      [most, active, pending, waited].flatMap((one) => one ?? []),
    );
    this.#points = pointsOf(tiles, new Map(series.map((one) => [one.id, one])), gaps);
  }

  /**
   * @param {Semaphore} semaphore
   * @param {number} at
   * @returns {Row}
   */
  #row({ name, most, active, pending, waited }, at) {
    const valueOf = (/** @type {import("../../types.js").Series|undefined} */ series) => {
      const points = this.#points.get(series?.id ?? -1);
      return points ? valueAt(points, at) : null;
    };
    return {
      name,
      most: valueOf(most),
      active: valueOf(active),
      pending: valueOf(pending),
      waited: valueOf(waited),
    };
  }
}
