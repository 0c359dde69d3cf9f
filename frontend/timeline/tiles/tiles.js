// The tiles of the charts: fetched when they are needed, and updated by live frames.

import { abortedWithAll, grouped, requestTile, requestTogether } from "../sources/tile_requests.js";
import { isEach, isUrgent } from "./bands.js";
import { closeEntry, extendEntry, makeEntry } from "./entries.js";
import { Failures } from "./failures.js";
import { FrameLog } from "./frames.js";
import { isClosed, tileWidth } from "./levels.js";
import { WantedPlaces, latestOf, placesOf } from "./places.js";
import { TileStore, makeTile } from "./tile_store.js";
import { joined, uncovered } from "./unloaded.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("../../types.js").ClusterInfo} ClusterInfo */
/** @typedef {import("./tile_store.js").Entry} Entry */
/** @typedef {import("./unloaded.js").Unloaded} Unloaded */
/** @typedef {import("../sources/source.js").Source} Source */
/** @typedef {import("../sources/source.js").MadeTile} MadeTile */
/** @typedef {import("./places.js").Place} Place */
/** @typedef {import("./places.js").Extent} Extent */

const CONCURRENCY = 12;
const GATHER = 120; // ms that drawing waits for further tiles, at most
const SETTLE = 40; // ms without movement before tiles are fetched
const TIMEOUT = 60_000; // ms: then a request has failed; a large tile that is built first takes seconds

/** Fires "change" when there are better tiles to draw, or a request failed. */
export class Tiles extends EventTarget {
  #source;
  #info;
  /** @type {Extent} */
  #extent;
  #store = new TileStore();
  #log = new FrameLog();
  #wanted = new WantedPlaces();
  /** @type {Map<string, AbortController>} */
  #inFlight = new Map();
  #failures = new Failures();
  /** @type {Map<string, Unloaded[]>} by viewer and layer */
  #unloaded = new Map();
  #timer = 0;
  #deadline = Infinity;
  #moved = -Infinity; // ms: when other tiles were wanted than before
  #hasBegun = false; // the first rows have arrived
  #holdsOthers = false; // no other tiles are requested, until the first rows are drawn
  #waitsUntil = -Infinity; // ms: for the socket
  #notifying = 0;
  #freshness;

  /**
   * @param {Source} source
   * @param {ClusterInfo} info
   * @param {import("../freshness.js").Freshness|null} freshness
   */
  constructor(source, info, freshness = null) {
    super();
    this.#freshness = freshness;
    this.#source = source;
    this.#info = info;
    this.#extent = info;
  }

  /** True while requested tiles are missing. */
  get loading() {
    return this.#inFlight.size > 0 || this.#lacks(() => true);
  }

  /** True when all tiles in the windows have arrived; those beside them may be missing. */
  get settled() {
    return !this.#lacks((place) => place.near);
  }

  /** True from when the first rows have arrived, or can't be had; or where no chart draws any. Those that wait for the socket come later. */
  get hasBegun() {
    if (this.#hasBegun) return true;
    const first = this.#wanted.all.filter((place) => place.near && isUrgent(place));
    const missing = first.filter((place) => this.#isMissing(place));
    return (
      !missing.length ||
      (missing.length < first.length && missing.every((place) => this.#waitForSocket(place) > 0))
    );
  }

  /** Requests no other tiles than those of the first rows, until `drawn` says that these are drawn. */
  holdUntilDrawn() {
    this.#holdsOthers = true;
  }

  /** Takes that what has arrived is drawn. */
  drawn() {
    if (!this.#holdsOthers) return;
    this.#holdsOthers = false;
    this.#schedule(0);
  }

  /** A message about tiles in the windows whose requests failed; null: there are none. */
  get problem() {
    const reason = this.#wanted.all.map(({ key }) => this.#failures.reason(key)).find(Boolean);
    return reason ? `Some data can't be loaded (${reason}); trying again.` : null;
  }

  /** @param {(place: Place) => boolean} matters */
  #lacks(matters) {
    return this.#wanted.all.some((place) => matters(place) && this.#isMissing(place));
  }

  /** @param {Place} place */
  #isMissing({ key }) {
    return !this.#store.get(key) && !this.#failures.has(key);
  }

  /**
   * The best tiles there are for a window, and the wish for better ones.
   * @param {string} viewer replaces the viewer's previous request for this layer
   * @param {string} layer
   * @param {number} start
   * @param {number} stop
   * @param {number} width of the window in px
   * @returns {Tile[]} in order of time, not overlapping
   */
  cover(viewer, layer, start, stop, width) {
    const places = placesOf(layer, start, stop, width, this.#info, this.#extent);
    const areOthers = this.#wanted.set(viewer, layer, places);
    const now = performance.now();
    this.#schedule(now - this.#moved < SETTLE ? SETTLE : 0);
    if (areOthers) this.#moved = now;
    const found = places.map((place) => this.#store.best(layer, place.level, place.index));
    const missing = places.flatMap((place, number) => this.#missing(place, found[number]));
    this.#unloaded.set(`${viewer} ${layer}`, joined(missing));
    return found.flat();
  }

  /**
   * The parts of the window that `cover` found no tiles for, and the time of which nothing was received.
   * @param {string} viewer
   * @param {string} layer
   * @returns {Unloaded[]} in order of time
   */
  unloaded(viewer, layer) {
    return [...(this.#unloaded.get(`${viewer} ${layer}`) ?? []), ...(this.#freshness?.unreceived() ?? [])];
  }

  /**
   * Whether tiles at a time are on their way, for some chart in sight that has none.
   * @param {number} time
   */
  isLoadingAt(time) {
    return [...this.#unloaded.values()]
      .flat()
      .some(({ start, stop, failed }) => !failed && start <= time && time < stop);
  }

  /**
   * @param {Place} place
   * @param {Tile[]} tiles
   * @returns {Unloaded[]}
   */
  #missing(place, tiles) {
    if (!tiles.length && this.#isInFrames(place)) return [];
    const width = tileWidth(place.level);
    const [start, stop] = [place.index * width, Math.min((place.index + 1) * width, latestOf(this.#extent))];
    return uncovered(Math.max(start, this.#extent.first), stop, tiles, this.#failures.reason(place.key));
  }

  /**
   * Says that a viewer doesn't draw a layer any more.
   * @param {string} viewer
   * @param {string} layer
   */
  release(viewer, layer) {
    this.#wanted.delete(viewer, layer);
    this.#unloaded.delete(`${viewer} ${layer}`);
  }

  /**
   * Fetches what isn't closed only once the socket has begun: before, it would have to be fetched again.
   * @param {number} until when it is fetched without a socket, as performance.now()
   */
  expectSocket(until) {
    this.#waitsUntil = until;
  }

  /**
   * Takes the number that the socket begins after: what was read before it is fetched again.
   * @param {number} sequence
   * @param {number} last the time of the newest record up to it
   */
  begin(sequence, last) {
    this.#waitsUntil = -Infinity;
    this.#log.begin(sequence, last);
    this.#distrust(sequence);
  }

  /**
   * Fetches what isn't closed again: there is no socket that brings what is new.
   * @param {number} sequence of what is stored by now
   */
  refresh(sequence) {
    this.#distrust(sequence);
  }

  /** Notes that the socket is disconnected. */
  end() {
    this.#log.end();
  }

  /**
   * Takes one live batch; its last block is the extent, which setExtent has been extent.
   * @param {Block[]} blocks
   * @returns {boolean} whether batches before this one were missed
   */
  append(blocks) {
    const frame = this.#log.add(blocks);
    if (frame.missed) this.#distrust(frame.sequence - 1);
    for (const entry of this.#store.entries()) {
      extendEntry(entry, frame);
      closeEntry(entry, frame);
    }
    this.#schedule(0);
    this.dispatchEvent(new Event("change"));
    return frame.missed;
  }

  /**
   * Marks tiles that lack a batch up to this number as stale; for closed tiles the version of the past decides.
   * @param {number} sequence
   */
  #distrust(sequence) {
    for (const entry of this.#store.entries()) {
      const { tile, version } = entry;
      if (tile.closed ? version < this.#extent.version : entry.sequence < sequence) entry.stale = true;
    }
    this.#schedule(0);
  }

  /** @param {Extent} extent */
  setExtent(extent) {
    this.#extent = extent;
  }

  /** Sends requests that are due, before the page draws. */
  sendDue() {
    if (this.#deadline <= performance.now()) this.#pump();
  }

  /** @param {number} delay ms */
  #schedule(delay) {
    const deadline = performance.now() + delay;
    if (deadline >= this.#deadline) return;
    clearTimeout(this.#timer);
    this.#deadline = deadline;
    this.#timer = window.setTimeout(() => this.#pump(), delay);
  }

  /** Aborts requests that are no longer needed, and starts the most important ones. */
  #pump() {
    clearTimeout(this.#timer);
    this.#deadline = Infinity;
    const wanted = this.#wanted.all;
    for (const [key, controller] of this.#inFlight) if (!this.#wanted.has(key)) controller.abort();
    const missing = wanted.filter((place) => !this.#store.get(place.key));
    const stale = wanted.filter((place) => this.#store.get(place.key)?.stale);
    const near = missing
      .filter((place) => place.near)
      .sort((one, other) => +isUrgent(other) - +isUrgent(one));
    const far = near.some(({ key }) => !this.#failures.waitFor(key))
      ? []
      : missing.filter((place) => !place.near);
    const first = near.filter((place) => isUrgent(place) && !this.#failures.has(place.key));
    if (!this.#hasBegun && first.length === 0) {
      this.#hasBegun = true;
      this.#holdsOthers = false; // there is nothing to wait for
    }
    let wait = Infinity;
    /** @type {Map<string, Place>} by key: several charts may want it */
    const due = new Map();
    for (const place of this.#hasBegun && !this.#holdsOthers ? [...near, ...stale, ...far] : first) {
      if (this.#inFlight.size + due.size >= CONCURRENCY) break;
      const left = Math.max(this.#failures.waitFor(place.key), this.#waitForSocket(place));
      if (left > 0) wait = Math.min(wait, left);
      else if (this.#isInFrames(place)) this.#build(place);
      else if (!this.#inFlight.has(place.key)) due.set(place.key, place);
    }
    const isAlone = (/** @type {Place} */ { layer, key }) =>
      !this.#source.sendsSeveral || isEach(layer) || this.#failures.has(key);
    for (const places of grouped([...due.values()], isAlone)) this.#send(places);
    if (wait < Infinity && this.#inFlight.size < CONCURRENCY) this.#schedule(wait);
  }

  /** @param {Place[]} places that are requested together */
  #send(places) {
    const controllers = places.map(() => new AbortController());
    const signals = controllers.map(({ signal }) => AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]));
    const keys = places.map(({ key }) => key);
    const together =
      places.length > 1
        ? requestTogether(this.#source, keys, this.#extent.version, abortedWithAll(signals))
        : [];
    for (const [number, place] of places.entries()) {
      this.#inFlight.set(place.key, controllers[number]);
      void this.#fetch(place, controllers[number], signals[number], together[number]);
    }
  }

  /** @param {Place} place @returns {number} ms */
  #waitForSocket({ level, index }) {
    const left = this.#waitsUntil - performance.now();
    const isOpen = this.#extent.ended === null && !isClosed((index + 1) * tileWidth(level), this.#extent);
    return left > 0 && isOpen ? left : 0;
  }

  /**
   * True for a tile that begins after all that was stored when the kept batches begin, until it is fetched as closed.
   * @param {Place} place
   */
  #isInFrames({ level, index, key }) {
    const width = tileWidth(level);
    return (
      !this.#store.get(key) && index * width > this.#log.last && !isClosed((index + 1) * width, this.#extent)
    );
  }

  /** @param {Place} place */
  #build(place) {
    const tile = makeTile(place.layer, place.level, place.index, false, []);
    const { version } = this.#extent;
    const entry = makeEntry(tile, place.key, { sequence: this.#log.start, version }, this.#log.frames);
    this.#store.put(entry, (key) => this.#wanted.has(key));
    this.dispatchEvent(new Event("change"));
  }

  /**
   * @param {Place} place
   * @param {AbortController} controller
   * @param {AbortSignal} signal
   * @param {Promise<MadeTile>|undefined} together the tile, where it is requested with others
   */
  async #fetch(place, controller, signal, together) {
    try {
      const entry = await this.#download(place, signal, together);
      this.#failures.delete(place.key);
      this.#store.put(entry, (key) => this.#wanted.has(key));
    } catch (error) {
      if (!controller.signal.aborted) this.#failures.add(place.key, error);
    } finally {
      this.#inFlight.delete(place.key);
      this.#schedule(0);
    }
    this.#arrived();
  }

  /** Drawing takes longer than a response, so tiles that arrive together are drawn together. The first rows are drawn at once. */
  #arrived() {
    const begins = !this.#hasBegun && this.hasBegun;
    this.#hasBegun ||= begins;
    if (begins || this.settled) this.#notify();
    else this.#notifying ||= window.setTimeout(() => this.#notify(), GATHER);
  }

  #notify() {
    clearTimeout(this.#notifying);
    this.#notifying = 0;
    this.dispatchEvent(new Event("change"));
  }

  /**
   * @param {Place} place
   * @param {AbortSignal} signal
   * @param {Promise<MadeTile>|undefined} together
   * @returns {Promise<Entry>}
   */
  async #download(place, signal, together) {
    const version = this.#extent.version;
    const elsewhere = together?.catch(() => null) ?? this.#source.tile?.(place); // null: it is requested by itself
    const made = elsewhere && (await elsewhere); // otherwise the request is sent at once
    const { blocks, bytes } = made ?? (await requestTile(this.#source, place.key, version, signal));
    const extent = blocks.find((block) => block.kind === "extent")?.meta;
    if (!extent) throw new Error("the server sent a tile without its extent");
    const closed = isClosed((place.index + 1) * tileWidth(place.level), /** @type {Extent} */ (extent));
    const tile = makeTile(place.layer, place.level, place.index, closed, blocks);
    const { sequence } = extent;
    const stale = !closed && sequence < this.#log.start;
    const state = { bytes, sequence, version: Math.max(version, extent.version), stale };
    return makeEntry(tile, place.key, state, this.#log.frames);
  }
}
