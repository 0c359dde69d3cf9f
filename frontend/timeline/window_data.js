// What the server says of the timeline's window: requested once the window stands still, and every few seconds where it is live.

/** @typedef {import("./sources/source.js").Source} Source */
/** @typedef {import("../types.js").View} View */

const PAUSE = 500; // ms that the window must stand still
const EVERY = 5000; // ms between two requests, where it moves with the present
const LARGEST_SHARE = 0.05; // of the time in which the server may work on it, where it moves with the present

/**
 * Fires "change" when the answer, or the reason why there is none, is another.
 * @template Answer
 */
export class WindowData extends EventTarget {
  /** @type {Answer|null} the newest answer; null: none yet */
  answer = null;
  /** why there is no current answer, for people; empty: there is one */
  message = "loading …";
  #source;
  #path;
  #every;
  #wanted = "";
  #loaded = -Infinity; // ms: when it was requested last
  #took = 0; // ms: how long that took
  #timer = 0;

  /**
   * @param {Source} source
   * @param {string} path below the timeline's URL: "/outliers", perhaps with a query
   * @param {number} [every] ms between two requests while live
   */
  constructor(source, path, every = EVERY) {
    super();
    this.#source = source;
    this.#path = path;
    this.#every = every;
  }

  /**
   * To be called with each drawing of a chart that shows it.
   * @param {Pick<View, "start"|"stop"|"live">} view
   */
  update({ start, stop, live }) {
    const times = new URLSearchParams({ after: Math.max(start, 0).toFixed(6), before: stop.toFixed(6) });
    const wanted = `${this.#path}${this.#path.includes("?") ? "&" : "?"}${times}`;
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    const isFirst = this.#loaded === -Infinity;
    const every = Math.max(this.#every, this.#took / LARGEST_SHARE);
    const wait = live ? Math.max(isFirst ? 0 : PAUSE, this.#loaded + every - performance.now()) : isFirst ? 0 : PAUSE;
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
  }

  async #load() {
    this.#timer = 0;
    const [wanted, requested] = [this.#wanted, performance.now()];
    this.#loaded = requested;
    try {
      const response = await this.#source.fetch(this.#source.url + wanted);
      if (!response.ok && response.status !== 404) throw new Error(`the server answered ${response.status}`);
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
}
