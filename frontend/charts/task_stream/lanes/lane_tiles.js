// The tiles of the task stream's rows: those of the bands of workers in sight, or sums of each worker where rows stand for
// workers of many bands.

import { bandLayer } from "../../../timeline/tiles/bands.js";
import { joined } from "../../../timeline/tiles/unloaded.js";
import { SUMS, tileOfLanes } from "./worker_sums.js";
import { LaneOptions } from "../options.js";

/** @typedef {import("../../../types.js").Context} Context */
/** @typedef {import("../../../types.js").Tile} Tile */
/** @typedef {import("../../../types.js").View} View */
/** @typedef {import("./rows.js").Row} Row */

const VIEWER = "task-stream";
const MOST_BANDS = 2; // of whose tasks each is fetched
const MOST_CELLS = 400_000; // workers × bins of a level, of which eight are one cell: some hundred kilobytes, at nine bytes a cell
const FINER = 4; // so that a cell is two to four pixels wide

export class LaneTiles {
  #context;
  /** @type {Set<string>} */
  #layers = new Set();
  /** @type {Tile[]} */
  all = [];

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  /** Whether they are sums of workers, in which there is no single task. */
  get areSums() {
    return this.#layers.has(SUMS);
  }

  release() {
    for (const layer of this.#layers) this.#context.tiles.release(VIEWER, layer);
    this.#layers = new Set();
  }

  /**
   * Takes the tiles of rows.
   * @param {Pick<View, "start"|"stop"|"width"|"tiles">} view
   * @param {Row[]} rows in sight
   * @param {boolean} needsAll whether those of other rows are needed too
   */
  cover(view, rows, needsAll) {
    const { model, tiles, selection, features } = this.#context;
    const bands = new Set(rows.flatMap((row) => row.lanes.map((lane) => model.spansLayer(lane))));
    // a single band is requested before it has a lane, so that the first tasks appear at once
    const there = model.bandsBetween(view.start, view.stop).map((band) => bandLayer("spans", band));
    if (needsAll || there.length === 1) for (const band of there) bands.add(band);
    const needsTasks =
      selection.key !== null || (features.of(LaneOptions).onlyPrefix && selection.prefix !== null);
    const canBeSums = bands.size > MOST_BANDS && !needsTasks && rows.every((row) => this.#isWhole(row));
    const layers = canBeSums ? new Set([SUMS]) : bands;
    for (const layer of this.#layers) if (!layers.has(layer)) tiles.release(VIEWER, layer);
    this.#layers = layers;
    if (canBeSums) {
      const width = Math.min(FINER * view.width, MOST_CELLS / model.slots.size);
      view.tiles[SUMS] = tiles.cover(VIEWER, SUMS, view.start, view.stop, width);
      this.all = view.tiles[SUMS].map((tile) => tileOfLanes(tile, model));
      return;
    }
    for (const layer of layers)
      view.tiles[layer] = tiles.cover(VIEWER, layer, view.start, view.stop, view.width);
    this.all = [...layers].flatMap((layer) => view.tiles[layer]);
  }

  /** All layers that were taken. */
  get layers() {
    return [...this.#layers];
  }

  /**
   * The layers of a row.
   * @param {Row} row
   */
  layersOf({ lanes }) {
    const { model } = this.#context;
    return this.areSums ? [SUMS] : [...new Set(lanes.map((lane) => model.spansLayer(lane)))];
  }

  /** @param {string[]} layers */
  unloaded(layers) {
    return joined(layers.flatMap((layer) => this.#context.tiles.unloaded(VIEWER, layer)));
  }

  /**
   * Whether a row has all threads of its workers.
   * @param {Row} row
   */
  #isWhole({ threads, lanes }) {
    const { model } = this.#context;
    return threads > 1 || lanes.every((lane) => model.lanesOf(model.workerOf(lane)?.id ?? -1).length <= 1);
  }
}
