// The state of the cluster at the playhead. While live, the socket sends it. Otherwise it is requested at most four
// times a second while playing (live without a socket: once, by hand: ten times); the latest request wins.

/** @typedef {import("../types.js").State} State */
/** @typedef {{live: boolean, playing: boolean}} Pace */

const INTERVAL = 100; // ms between two requests while paused
const PLAYING_INTERVAL = 250;
const LIVE_INTERVAL = 1000; // more often there is nothing new
const RETRY = 2000;
const RECEIVING_FOR = 3000; // ms: the socket sends a state each second
const CACHE_SIZE = 64;
const SAME_INSTANT = 0.001; // seconds
const CURRENT_FOR = 1500; // ms: while time moves on, a state this old is current

/** Fires "change" when a newer state has arrived. */
export class PlayheadState extends EventTarget {
  /** @type {State|null} */
  state = null;
  /** @type {Map<number, State>} by milliseconds */
  #cache = new Map();
  #wanted = NaN;
  #shownFor = NaN; // the time that the state was requested for
  #shownAt = -Infinity; // ms
  /** @type {Pace} */
  #pace = { live: false, playing: false };
  #requestedAt = -Infinity;
  /** @type {State|null} the newest that the socket sent */
  #received = null;
  #receivedAt = -Infinity;
  #waitsUntil = -Infinity; // ms: for the socket's first state
  #timer = 0;
  #due = Infinity; // ms: when the timer fires
  /** @type {AbortController|null} */
  #inFlight = null;
  #source;

  /** @param {import("./sources/source.js").Source} source */
  constructor(source) {
    super();
    this.#source = source;
  }

  /**
   * @param {number} at the time to show
   * @param {Pace} pace while time moves on, an answer on its way isn't given up
   */
  request(at, pace) {
    this.#pace = { live: pace.live, playing: pace.playing };
    if (Math.abs(at - this.#wanted) < SAME_INSTANT) return;
    this.#wanted = at;
    if (this.#isReceiving()) {
      this.#show(/** @type {State} */ (this.#received), at);
      return;
    }
    const cached = this.#cache.get(Math.round(at * 1000));
    if (cached) this.#show(cached, at);
    else this.#schedule();
  }

  /** Sends a request that is due now, before the page draws: the response often arrives meanwhile. */
  sendDue() {
    if (this.#due > performance.now()) return;
    clearTimeout(this.#timer);
    void this.#fetch();
  }

  /**
   * Requests no live state for now: the socket sends one as soon as it is connected.
   * @param {number} until when it is requested without a socket, as performance.now()
   */
  expectSocket(until) {
    this.#waitsUntil = until;
  }

  /**
   * Takes the current state, from the socket.
   * @param {State} state
   */
  receive(state) {
    this.#received = state;
    this.#receivedAt = performance.now();
    this.#waitsUntil = -Infinity;
    if (!this.#pace.live) return;
    clearTimeout(this.#timer);
    [this.#timer, this.#due] = [0, Infinity];
    this.#show(state, this.#wanted);
  }

  /** False while a newer state is requested, and while the socket that sends them is silent. */
  get isCurrent() {
    const { live, playing } = this.#pace;
    if ((live || playing) && performance.now() - this.#shownAt < CURRENT_FOR) return true;
    return Math.abs(this.#shownFor - this.#wanted) < SAME_INSTANT && !this.#timer && !this.#inFlight;
  }

  /**
   * Requests the state again if it is of an earlier time than was requested, and that time is recorded by now.
   * @param {number} committed all records before this time are stored
   */
  complete(committed) {
    const { live, playing } = this.#pace;
    if (live || playing || !this.state || committed < this.#wanted) return;
    if (this.isCurrent && this.state.at < this.#wanted - SAME_INSTANT) this.#schedule();
  }

  #isReceiving() {
    return this.#pace.live && performance.now() - this.#receivedAt < RECEIVING_FOR;
  }

  /** Clears the cache: the past has changed. */
  forget() {
    this.#cache.clear();
    if (!Number.isNaN(this.#wanted)) this.#schedule();
  }

  #schedule(delay = 0) {
    const { live, playing } = this.#pace;
    if (this.#isReceiving() || this.#timer || (this.#inFlight && (live || playing))) return;
    const interval = live ? LIVE_INTERVAL : playing ? PLAYING_INTERVAL : INTERVAL;
    const now = performance.now();
    this.#due = Math.max(this.#requestedAt + interval, now + delay, live ? this.#waitsUntil : now);
    this.#timer = window.setTimeout(() => void this.#fetch(), Math.max(this.#due - now, 0));
  }

  async #fetch() {
    this.#timer = 0;
    this.#due = Infinity;
    this.#requestedAt = performance.now();
    const at = this.#wanted;
    this.#inFlight?.abort();
    const controller = new AbortController();
    this.#inFlight = controller;
    let failed = false;
    try {
      const url = `${this.#source.url}/state?at=${at.toFixed(6)}`;
      // it takes the server longest
      const response = await this.#source.fetch(url, { signal: controller.signal, priority: "high" });
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      const state = /** @type {State} */ (await response.json());
      if (state.at >= at - SAME_INSTANT) this.#remember(Math.round(at * 1000), state); // else it will be known better
      this.#show(state, at);
    } catch (error) {
      if (controller.signal.aborted) return;
      failed = true;
      console.warn("no state at the playhead", error);
    }
    this.#inFlight = null;
    if (failed) this.#schedule(RETRY);
    else if (this.#wanted !== at) this.#schedule();
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
   * @param {State} state
   * @param {number} at the time that it was requested for
   */
  #show(state, at) {
    this.#shownFor = at;
    this.#shownAt = state === this.#received ? this.#receivedAt : performance.now();
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }
}
