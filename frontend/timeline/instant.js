// The state of the cluster at the playhead: asked for at most four times a second, the latest instant wins.

/** @typedef {import("../types.js").State} State */

const SHORTEST_INTERVAL = 250; // ms between two questions
const CACHE_SIZE = 64;
const SAME_INSTANT = 0.001; // seconds

/** Fires "change" when a newer state has arrived. */
export class Instant extends EventTarget {
  /** @type {State|null} */
  state = null;
  /** @type {Map<number, State>} by milliseconds; of the past only */
  #cache = new Map();
  #wanted = NaN;
  #shown = NaN;
  #asked = -Infinity;
  #timer = 0;
  /** @type {AbortController|null} */
  #inFlight = null;
  #url;

  /** @param {string} url of the cluster's /state */
  constructor(url) {
    super();
    this.#url = url;
  }

  /** @param {number} at the instant that is to be shown */
  request(at) {
    if (Math.abs(at - this.#wanted) < SAME_INSTANT) return;
    this.#wanted = at;
    const cached = this.#cache.get(Math.round(at * 1000));
    if (cached) return this.#show(at, cached);
    if (this.#timer) return;
    const wait = Math.max(0, this.#asked + SHORTEST_INTERVAL - performance.now());
    this.#timer = window.setTimeout(() => this.#fetch(), wait);
  }

  /** Forgets what was answered: the past has changed. */
  forget() {
    this.#cache.clear();
    const at = this.#wanted;
    this.#wanted = NaN;
    if (!Number.isNaN(at)) this.request(at);
  }

  async #fetch() {
    this.#timer = 0;
    this.#asked = performance.now();
    const at = this.#wanted;
    this.#inFlight?.abort();
    const controller = new AbortController();
    this.#inFlight = controller;
    try {
      const response = await fetch(`${this.#url}?at=${at.toFixed(6)}`, { signal: controller.signal });
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      const state = /** @type {State} */ (await response.json());
      this.#remember(Math.round(at * 1000), state);
      this.#show(at, state);
    } catch (error) {
      if (controller.signal.aborted) return;
      console.warn("no state at the playhead", error);
      if (at === this.#wanted) this.#wanted = NaN;
    } finally {
      if (this.#inFlight === controller) this.#inFlight = null;
    }
  }

  /**
   * @param {number} key
   * @param {State} state
   */
  #remember(key, state) {
    this.#cache.set(key, state);
    const oldest = this.#cache.keys().next().value;
    if (this.#cache.size > CACHE_SIZE && oldest !== undefined) this.#cache.delete(oldest);
  }

  /**
   * @param {number} at
   * @param {State} state
   */
  #show(at, state) {
    if (at === this.#shown && state === this.state) return;
    this.#shown = at;
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }
}
