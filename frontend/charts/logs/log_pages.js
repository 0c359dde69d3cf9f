// The log lines of the window that are loaded: those around the playhead, and where the window is live its newest.

import { logPath } from "./options.js";
import { reasonOf } from "../../timeline/sources/source.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["Logs"]} Logs */
/** @typedef {Logs["lines"][number]} LogLine */
/** @typedef {"older"|"newer"} Side */

const PAUSE = 300; // ms that the window, the filter and the playhead must stand still
const EVERY = 2000; // ms between two requests of a live window
const PAGE = 200; // lines of a request
export const MOST = 2000; // lines that are kept

/** Fires "change". */
export class LogPages extends EventTarget {
  /** @type {LogLine[]} in order of time */
  lines = [];
  /** @type {Record<Side, string|null>} where more lines are; null: there are none */
  more = { older: null, newer: null };
  /** @type {Record<Side, number|null>} where a search stopped for lack of time */
  stopped = { older: null, newer: null };
  /** how many files of the archive the last search has read, as in "4/31"; empty: it needed none */
  files = "";
  /** why there are no current lines; empty: there are */
  message = "loading …";
  isLoading = false;
  #context;
  #wanted = ""; // what the newest request was for
  #askedAt = NaN; // the playhead that it was for
  #loaded = -Infinity; // ms
  #sequence = -1; // of the batches that were stored by then
  #timer = 0;
  /** @type {View|null} */
  #view = null;

  /** @param {Context} context */
  constructor(context) {
    super();
    this.#context = context;
  }

  /** @param {View} view */
  update(view) {
    this.#view = view;
    if (this.#timer || !this.#isWanted(view)) return;
    const isFirst = this.#loaded === -Infinity;
    const wait = isFirst ? 0 : view.live ? Math.max(this.#loaded + EVERY - performance.now(), PAUSE) : PAUSE;
    this.#timer = window.setTimeout(() => void this.#load(), wait);
  }

  /** Requests nothing until the next `update`. */
  stop() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /**
   * Loads more lines on a side, and forgets the furthest ones on the other where there are too many.
   * @param {Side} side
   */
  async extend(side) {
    const cursor = this.more[side];
    if (cursor === null || this.isLoading || !this.#view) return;
    const wanted = this.#wanted;
    const found = await this.#ask(this.#url(this.#view, { [side]: cursor }));
    if (!found || wanted !== this.#wanted) return;
    this.lines = side === "older" ? [...found.lines, ...this.lines] : [...this.lines, ...found.lines];
    this.#take(found, side);
    if (this.lines.length > MOST) this.#forget(side === "older" ? "newer" : "older");
    this.dispatchEvent(new Event("change"));
  }

  /** @param {View} view */
  #isWanted(view) {
    if (view.live) return this.#sequence !== this.#context.info.sequence || this.#key(view) !== this.#wanted;
    return this.#key(view) !== this.#wanted || this.#isBeyond(view.playhead);
  }

  /** @param {number} playhead; whether it is beside the loaded lines, where there are others */
  #isBeyond(playhead) {
    const [first, last] = [this.lines[0], this.lines[this.lines.length - 1]];
    if (!first || playhead === this.#askedAt) return false;
    return (
      (playhead < first.time && this.more.older !== null) ||
      (playhead > last.time && this.more.newer !== null)
    );
  }

  /** @param {View} view; what the lines depend on, besides the playhead */
  #key({ start, stop, live }) {
    return `${logPath("logs", this.#context)} ${live ? "live" : `${start} ${stop}`}`;
  }

  /**
   * @param {View} view
   * @param {Record<string, string>} place
   */
  #url({ start, stop }, place) {
    const path = logPath("logs", this.#context);
    const query = new URLSearchParams({
      after: Math.max(start, 0).toFixed(6),
      before: stop.toFixed(6),
      limit: String(PAGE),
      ...place,
    });
    return `${path}${path.includes("?") ? "&" : "?"}${query}`;
  }

  async #load() {
    this.#timer = 0;
    const view = this.#view;
    if (!view) return;
    const wanted = this.#key(view);
    const isAppended = view.live && wanted === this.#wanted;
    this.#wanted = wanted;
    this.#askedAt = view.playhead;
    this.#loaded = performance.now();
    this.#sequence = this.#context.info.sequence;
    const found = await this.#ask(this.#url(view, view.live ? {} : { at: view.playhead.toFixed(6) }));
    if (wanted !== this.#wanted) return;
    if (found && isAppended) this.#append(found);
    else {
      this.lines = found?.lines ?? [];
      this.#take(found, "older");
      this.#take(found, "newer");
    }
    this.dispatchEvent(new Event("change"));
  }

  /** @param {Logs} newest lines of a live window: late ones are among them */
  #append(newest) {
    const known = new Set(this.lines.map(({ id }) => id));
    const added = newest.lines.filter(({ id }) => !known.has(id));
    const isGap = known.size > 0 && added.length === newest.lines.length && newest.older !== null;
    if (isGap || !known.size) {
      this.lines = newest.lines;
      this.#take(newest, "older");
    } else if (added.length) {
      this.lines = [...this.lines, ...added].sort((one, other) => one.time - other.time);
      if (this.lines.length > MOST) this.#forget("older");
    }
  }

  /**
   * @param {Logs|null} found
   * @param {Side} side
   */
  #take(found, side) {
    this.more[side] = found?.[side] ?? null;
    this.stopped[side] = (side === "older" ? found?.searched_from : found?.searched_to) ?? null;
  }

  /** @param {Side} side */
  #forget(side) {
    this.lines = side === "older" ? this.lines.slice(-MOST) : this.lines.slice(0, MOST);
    this.more[side] = (side === "older" ? this.lines[0] : this.lines[MOST - 1]).id;
    this.stopped[side] = null;
  }

  /**
   * @param {string} path
   * @returns {Promise<Logs|null>} null where there is none, with a message
   */
  async #ask(path) {
    this.isLoading = true;
    try {
      const { source } = this.#context;
      const response = await source.fetch(source.url + path);
      if (!response.ok && response.status !== 404) throw new Error(await reasonOf(response));
      this.files = response.headers.get("Searched-Files") ?? "";
      this.message = response.ok ? "" : "The log lines are not in this file.";
      return response.ok ? await response.json() : null;
    } catch (error) {
      this.message = `Log lines can't be loaded: ${error instanceof Error ? error.message : error}`;
      return null;
    } finally {
      this.isLoading = false;
    }
  }
}
