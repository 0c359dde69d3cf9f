// What the server says of the timeline's window: requested once the window stands still, and every few seconds where it is live.

import { reasonOf } from "./sources/source.js";

/** @typedef {import("./sources/source.js").Source} Source */
/** @typedef {Pick<import("../types.js").View, "start"|"stop"|"playhead"|"live">} Times */

const PAUSE = 500; // ms that the window must stand still
const EVERY = 5000; // ms between two requests, where it moves with the present
const LOADING = "loading …";
const LARGEST_SHARE = 0.05; // of the time in which the server may work on it, where it moves with the present

/**
 * Fires "change" when the answer, or the reason why there is none, is another.
 * @template Answer
 */
export class WindowData extends EventTarget {
  /** @type {Answer|null} the newest answer; null: none yet */
  answer = null;
  /** why there is no current answer, for people; empty: there is one */
  message = LOADING;
  #source;
  #path;
  #every;
  #timesOf;
  #wanted = "";
  #loaded = -Infinity; // ms: when it was requested last
  #took = 0; // ms: how long that took
  #timer = 0;

  /**
   * @param {Source} source
   * @param {string} path below the timeline's URL: "/outliers", perhaps with a query
   * @param {number} [every] ms between two requests while live
   * @param {(view: Times) => Record<string, string>} [timesOf] the parameters that say of which time the answer is
   */
  constructor(source, path, every = EVERY, timesOf = windowOf) {
    super();
    this.#source = source;
    this.#path = path;
    this.#every = every;
    this.#timesOf = timesOf;
  }

  /**
   * To be called with each drawing of a chart that shows it.
   * @param {Times} view
   */
  update(view) {
    const { live } = view;
    const times = new URLSearchParams(this.#timesOf(view));
    const wanted = `${this.#path}${this.#path.includes("?") ? "&" : "?"}${times}`;
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    const isFirst = this.#loaded === -Infinity;
    const every = Math.max(this.#every, this.#took / LARGEST_SHARE);
    const wait = live
      ? Math.max(isFirst ? 0 : PAUSE, this.#loaded + every - performance.now())
      : isFirst
        ? 0
        : PAUSE;
    if (!live) clearTimeout(this.#timer);
    if (!live || !this.#timer) this.#timer = window.setTimeout(() => void this.#load(), wait);
  }

  /** Requests nothing until the next `update`. */
  stop() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#wanted = "";
  }

  /** Forgets the answer, as after a change that makes it wrong, and requests it with the next `update`. */
  restart(path = this.#path) {
    this.stop();
    this.#path = path;
    this.#loaded = -Infinity;
    this.answer = null;
    this.message = LOADING;
  }

  async #load() {
    this.#timer = 0;
    const [wanted, requested] = [this.#wanted, performance.now()];
    this.#loaded = requested;
    try {
      const response = await this.#source.fetch(this.#source.url + wanted);
      if ([429, 503].includes(response.status) && response.headers.has("Retry-After"))
        return await this.#wait(response, requested);
      if (!response.ok && response.status !== 404) throw new Error(await reasonOf(response));
      const answer = response.ok ? await response.json() : null;
      if (this.#loaded !== requested) return; // a newer one is on its way
      this.answer = answer;
      this.message = response.ok ? "" : "A file of a run does not have this.";
    } catch (error) {
      if (this.#loaded !== requested) return;
      this.message = `This can't be loaded: ${error instanceof Error ? error.message : error}. It is tried again when the window changes.`;
    }
    this.#took = performance.now() - requested;
    this.dispatchEvent(new Event("change"));
  }

  /**
   * Says that the server is still working on the answer, and requests it again when the server says.
   * @param {Response} response
   * @param {number} requested
   */
  async #wait(response, requested) {
    const reason = await reasonOf(response);
    if (this.#loaded !== requested) return;
    this.answer = null;
    this.message = reason;
    if (!this.#timer)
      this.#timer = window.setTimeout(
        () => void this.#load(),
        1000 * Number(response.headers.get("Retry-After")),
      );
    this.dispatchEvent(new Event("change"));
  }
}

/** @param {Times} view */
function windowOf({ start, stop }) {
  return { after: Math.max(start, 0).toFixed(6), before: stop.toFixed(6) };
}
