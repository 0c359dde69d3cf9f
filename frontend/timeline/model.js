// The workers, lanes, prefixes and series of a cluster, from /lanes and live blocks.

import { PrefixColors } from "./colors/prefix_colors.js";
import { sortedByName } from "../name_order.js";
import { slotsOf } from "./slots.js";
import { bandLayer, layerName } from "./tiles/bands.js";

/** @typedef {import("../types.js").Worker} Worker */
/** @typedef {import("../types.js").Lane} Lane */
/** @typedef {import("../types.js").Prefix} Prefix */
/** @typedef {import("../types.js").Series} Series */
/** @typedef {import("../types.js").SeriesGroup} SeriesGroup */
/** @typedef {import("../types.js").Block} Block */
/** @typedef {import("./slots.js").Slot} Slot */
/** @typedef {import("../types.js").Schemas["LeftOut"]} LeftOut */

const UNKNOWN_COLOR = "#888888";

export class Model extends EventTarget {
  /** @param {number} [band] workers in a band of a layer */
  constructor(band = 64) {
    super();
    this.band = band;
    /** @type {Map<number, Worker>} */
    this.workers = new Map();
    /** @type {Map<number, Lane>} */
    this.lanes = new Map();
    /** @type {Map<number, Prefix>} */
    this.prefixes = new Map();
    /** @type {Map<string, Series[]>} series by layer */
    this.series = new Map();
    /** grows whenever anything is added or changed */
    this.version = 0;
    /** of the answer of /lanes that was taken last; empty since a live block was applied */
    this.lanesVersion = "";
    /** @type {Map<number, number>} small numbers by id */
    this.prefixOrder = new Map();
    /** @type {number[]} ids by small number */
    this.prefixIds = [];
    this.colors = new PrefixColors();
    /** @type {Map<number, Series>} series whose layer isn't known before their first sample */
    this.unplaced = new Map();
    /** @type {LeftOut} how many there are beside those that are listed */
    this.leftOut = { workers: 0, lanes: 0, prefixes: 0, series: 0 };
    /** @type {(prefix: number) => void} called for the name of a prefix that isn't listed */
    this.askName = () => {};
  }

  /**
   * Takes what /clusters/{id}/lanes answered.
   * @param {{version?: string, workers: Worker[], lanes: Lane[], prefixes: Prefix[], series: Record<string, SeriesGroup[]>, left_out?: LeftOut}} answer
   */
  load(answer) {
    for (const worker of answer.workers) this.workers.set(worker.id, worker);
    for (const lane of answer.lanes) this.lanes.set(lane.id, lane);
    this.#addPrefixes(answer.prefixes);
    for (const [layer, groups] of Object.entries(answer.series)) this.#seriesGroups.set(layer, groups);
    this.lanesVersion = answer.version ?? "";
    this.leftOut = answer.left_out ?? this.leftOut;
    this.#changed();
  }

  /**
   * Applies a live block of workers, lanes, prefixes or series. The layer of a series is that of its samples.
   * @param {Block} block
   */
  apply(block) {
    const items = Array.isArray(block.meta.items) ? block.meta.items : [];
    if (block.kind === "worker") for (const item of items) this.workers.set(item.id, item);
    else if (block.kind === "lane") for (const item of items) this.lanes.set(item.id, item);
    else if (block.kind === "prefix") this.#addPrefixes(items);
    else if (block.kind === "series") for (const item of items) this.unplaced.set(item.id, item);
    else if (block.kind !== "bin" || !this.#place(block)) return;
    this.lanesVersion = "";
    this.#changed();
  }

  /**
   * The series of a layer, in the order of their appearance.
   * @param {string} layer
   * @returns {Series[]}
   */
  seriesOf(layer) {
    this.#ungroup(layer);
    return this.series.get(layer) ?? [];
  }

  /**
   * A worker's lanes by position.
   * @param {number} worker id
   * @returns {Lane[]}
   */
  lanesOf(worker) {
    return this.#lanesByWorker().get(worker) ?? [];
  }

  /**
   * The workers whose lifetimes overlap [start, stop), in the order of their names ("2" before "10").
   * @param {number} start
   * @param {number} stop
   * @returns {Worker[]}
   */
  workersBetween(start, stop) {
    return this.#sortedWorkers().filter(
      (worker) => worker.started < stop && (worker.ended ?? Infinity) > start,
    );
  }

  /** The slots of all workers, by key. */
  get slots() {
    this.#slots ??= slotsOf(this.workers.values());
    return this.#slots;
  }

  /**
   * The slot of a worker, with all of its lifetimes.
   * @param {number|null} worker id
   * @returns {Slot|null}
   */
  slotOf(worker) {
    return this.slots.get(this.workers.get(worker ?? -1)?.slot ?? "") ?? null;
  }

  /** @param {number} lane @returns {Worker|undefined} the lifetime that a lane is of */
  workerOf(lane) {
    return this.workers.get(this.lanes.get(lane)?.worker ?? -1);
  }

  /**
   * The ids of all lifetimes of a worker's slot; none for null.
   * @param {number|null} worker id of one of them
   * @returns {number[]}
   */
  lifetimesOf(worker) {
    return this.slotOf(worker)?.lifetimes.map(({ id }) => id) ?? [];
  }

  /**
   * The slots that had a worker in [start, stop), with the lifetimes of that time, in the order of their names.
   * @param {number} start
   * @param {number} stop
   * @returns {Slot[]}
   */
  slotsBetween(start, stop) {
    return [...slotsOf(this.workersBetween(start, stop)).values()];
  }

  /**
   * The most threads that were there at once between two times: the capacity to compare busy time with.
   * @param {number} start
   * @param {number} stop
   */
  peakThreads(start, stop) {
    const changes = [];
    for (const worker of this.workersBetween(start, stop)) {
      changes.push([worker.started, worker.nthreads], [worker.ended ?? Infinity, -worker.nthreads]);
    }
    changes.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    let threads = 0;
    let peak = 0;
    for (const [, change] of changes) peak = Math.max(peak, (threads += change));
    return peak;
  }

  /** Whether its workers, of all time, need more than one band. */
  get isLarge() {
    return this.workers.size > this.band;
  }

  /**
   * The bands whose workers lived in [start, stop), ascending; the first of all where no worker did.
   * A run's workers can be in late bands: positions count all workers of its cluster.
   * @param {number} start
   * @param {number} stop
   * @returns {number[]}
   */
  bandsBetween(start, stop) {
    const window = `${start} ${stop}`;
    if (this.#bands?.window !== window) {
      const found = new Set(this.workersBetween(start, stop).map(({ id }) => this.bandOf(id)));
      this.#bands = { window, found: [...found].sort((one, other) => one - other) };
    }
    return this.#bands.found.length ? this.#bands.found : [0];
  }

  /** @param {number} worker id */
  bandOf(worker) {
    return Math.floor((this.workers.get(worker)?.position ?? 0) / this.band);
  }

  /**
   * The layer that has a lane's spans.
   * @param {number} lane id
   */
  spansLayer(lane) {
    this.#spansLayers ??= new Map(
      [...this.lanes.values()].map(({ id, worker }) => [id, bandLayer("spans", this.bandOf(worker))]),
    );
    return this.#spansLayers.get(lane) ?? "spans";
  }

  /** @param {number} id of a prefix */
  color(id) {
    return this.colors.of(this.prefixes.get(id)?.name ?? "") ?? UNKNOWN_COLOR;
  }

  /** @param {PrefixColors} colors of several timelines, by name */
  shareColors(colors) {
    colors.add([...this.prefixes.values()]);
    this.colors = colors;
  }

  /**
   * @param {import("./colors/oklab.js").Rgb[]} backgrounds on which the prefixes have to be seen
   * @param {boolean} isExact whether they have Dask's exact colours
   */
  setColors(backgrounds, isExact) {
    this.colors.setBackgrounds(backgrounds);
    this.colors.isExact = isExact;
    this.#changed();
  }

  /** @param {number} id */
  prefixName(id) {
    const known = this.prefixes.get(id);
    if (!known) this.askName(id);
    return known?.name ?? `prefix ${id}`;
  }

  /** @param {Prefix[]} prefixes that weren't listed */
  addPrefixes(prefixes) {
    this.#addPrefixes(prefixes);
    this.#changed();
  }

  /**
   * A small number for a prefix: 0, 1, … in the order of appearance; -1 for one that isn't known.
   * @param {number} id
   */
  prefixIndex(id) {
    return this.prefixOrder.get(id) ?? -1;
  }

  /** @param {Prefix[]} prefixes */
  #addPrefixes(prefixes) {
    for (const prefix of prefixes) {
      if (!this.prefixOrder.has(prefix.id))
        this.prefixOrder.set(prefix.id, this.prefixIds.push(prefix.id) - 1);
      this.prefixes.set(prefix.id, prefix);
    }
    this.colors.add(prefixes);
  }

  /** @param {string} layer */
  #ungroup(layer) {
    const groups = this.#seriesGroups.get(layer) ?? [];
    this.#seriesGroups.delete(layer);
    for (const series of ungrouped(groups)) this.#addSeries(layer, series);
  }

  /**
   * @param {string} layer
   * @param {Series} series
   */
  #addSeries(layer, series) {
    const list = this.series.get(layer) ?? [];
    const known = this.#seriesPlaces.get(series.id) ?? list.length;
    list[known] = series;
    this.#seriesPlaces.set(series.id, known);
    this.series.set(layer, list);
  }

  /**
   * @param {Block} block of kind bin
   * @returns {boolean} whether it named the layer of a series
   */
  #place(block) {
    const before = this.unplaced.size;
    for (const id of before ? block.numbers("series") : []) {
      const series = this.unplaced.get(id);
      if (series) {
        this.#ungroup(layerName(block.meta.layer));
        this.#addSeries(layerName(block.meta.layer), series);
      }
      this.unplaced.delete(id);
    }
    return this.unplaced.size < before;
  }

  /** @type {Map<string, SeriesGroup[]>} by layer: not in `series` before a chart wants them, as many take long */
  #seriesGroups = new Map();
  /** @type {Map<number, number>} where in its layer's list a series is */
  #seriesPlaces = new Map();
  /** @type {Map<number, string>|null} */
  #spansLayers = null;
  /** @type {Map<number, Lane[]>|null} */
  #byWorker = null;
  /** @type {Worker[]|null} */
  #sorted = null;
  /** @type {Map<string, Slot>|null} */
  #slots = null;
  /** of the last window @type {{window: string, found: number[]}|null} */
  #bands = null;

  #lanesByWorker() {
    if (this.#byWorker) return this.#byWorker;
    const map = new Map();
    for (const lane of this.lanes.values()) {
      const list = map.get(lane.worker);
      if (list) list.push(lane);
      else map.set(lane.worker, [lane]);
    }
    for (const list of map.values())
      list.sort((/** @type {Lane} */ a, /** @type {Lane} */ b) => a.position - b.position);
    this.#byWorker = map;
    return map;
  }

  #sortedWorkers() {
    if (this.#sorted) return this.#sorted;
    const byStart = [...this.workers.values()].sort((one, other) => one.started - other.started);
    this.#sorted = sortedByName(byStart, (worker) => worker.name || worker.address);
    return this.#sorted;
  }

  #changed() {
    this.#byWorker = null;
    this.#spansLayers = null;
    this.#sorted = null;
    this.#slots = null;
    this.#bands = null;
    this.version += 1;
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * The series of groups, in the order of their appearance.
 * @param {SeriesGroup[]} groups
 * @returns {Series[]}
 */
function ungrouped(groups) {
  const series = groups.flatMap(({ ids, workers, ...shared }) =>
    ids.map((id, at) => ({ ...shared, id, worker: workers[at] })),
  );
  return series.sort((one, other) => one.id - other.id);
}
