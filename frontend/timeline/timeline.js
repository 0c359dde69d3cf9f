// The timeline of a page: window, playhead and speed. Pure state; the page calls advance().

/** @typedef {import("../types.js").ClusterInfo} ClusterInfo */

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64];
const SHORTEST = 0.01; // seconds: ten bins of the finest level
const DEFAULT_LENGTH = 60;
const ALWAYS_POSSIBLE = 600; // seconds: a window may be this long however young the cluster is
const LONGEST_STEP = 2; // seconds of wall time: what a suspended machine missed isn't made up for
const SHORT_WAIT = 0.3; // seconds: shorter waits for data aren't noticed

/** Times are seconds since the epoch on the scheduler's clock. */
export class Timeline extends EventTarget {
  start = 0;
  stop = 0;
  playhead = 0;
  first = 0;
  last = 0;
  live = false;
  playing = false;
  speed = 1;
  /** seconds for which playing has waited for data */
  #waited = 0;
  /** width of the plots in px: live moves on by whole pixels */
  width = 1000;
  /** @type {number|null} */
  ended = null;
  #offset = 0;
  #wallClock;

  /**
   * @param {ClusterInfo} info
   * @param {() => number} wallClock seconds since the epoch on the browser's clock
   */
  constructor(info, wallClock = () => Date.now() / 1000) {
    super();
    this.#wallClock = wallClock;
    this.setClock(info.now);
    this.first = info.first || info.started;
    this.last = Math.max(info.last, this.first);
    this.ended = info.ended;
    if (this.ended === null) this.goLive();
    else this.fit();
  }

  /** The scheduler's clock now; for a cluster that has ended, its end. */
  now() {
    return this.ended !== null ? this.end : this.#wallClock() + this.#offset;
  }

  /** Until when there is something to see. */
  get end() {
    return this.ended !== null
      ? Math.max(this.ended, this.last)
      : Math.max(this.last, this.#wallClock() + this.#offset);
  }

  get length() {
    return this.stop - this.start;
  }

  /** True while playing is slower than its speed, because data isn't there in time. */
  get isWaiting() {
    return this.playing && this.#waited >= SHORT_WAIT;
  }

  /** @param {number} now the current time on the scheduler's clock */
  setClock(now) {
    this.#offset = now - this.#wallClock();
  }

  /**
   * Sets the newest bounds of what is recorded.
   * @param {{first: number, last: number, ended: number|null}} extent
   */
  setBounds({ first, last, ended }) {
    const hasEnded = ended !== null && this.ended === null;
    if (first === this.first && last === this.last && ended === this.ended) return;
    this.first = first || this.first;
    this.last = Math.max(last, this.first);
    this.ended = ended;
    if (hasEnded && this.live) {
      this.live = false;
      this.#moveTo(this.end - this.length, this.length);
      this.playhead = this.end;
    }
    this.#changed();
  }

  /**
   * Shows [start, stop); leaves live.
   * @param {number} start
   * @param {number} stop
   */
  setWindow(start, stop) {
    this.#leaveLive();
    this.#moveTo(start, stop - start);
    this.#changed();
  }

  /**
   * Makes the window `factor` times as long, keeping `time` where it is on the screen. Live stays live: its end stays.
   * @param {number} factor
   * @param {number} time
   */
  zoom(factor, time) {
    const length = this.#clampLength(this.length * factor);
    const anchor = this.live ? this.stop : Math.min(Math.max(time, this.start), this.stop);
    const share = this.length > 0 ? (anchor - this.start) / this.length : 0.5;
    this.#moveTo(anchor - share * length, length);
    if (this.live) this.#pin();
    this.#changed();
  }

  /** @param {number} seconds to the future (positive) or the past; leaves live */
  pan(seconds) {
    this.#leaveLive();
    this.#moveTo(this.start + seconds, this.length);
    this.#changed();
  }

  /** Shows everything. */
  fit() {
    const length = Math.max(this.end - this.first, 1);
    const margin = length * 0.01;
    this.#leaveLive();
    this.start = this.first - margin;
    this.stop = this.first + length + margin;
    if (this.playhead < this.start || this.playhead > this.stop) this.playhead = this.end;
    this.#changed();
  }

  /** @param {number} time; leaves live */
  setPlayhead(time) {
    this.#leaveLive();
    this.playhead = this.#clampTime(time);
    this.#changed();
  }

  /**
   * Moves the playhead, and the window after it where it would be out of sight.
   * @param {number} time
   */
  jump(time) {
    this.setPlayhead(time);
    this.reveal();
  }

  /** @param {number} seconds */
  step(seconds) {
    this.jump(this.playhead + seconds);
  }

  /** Centres the window on a playhead that is out of sight. */
  reveal() {
    if (this.playhead >= this.start && this.playhead <= this.stop) return;
    this.#moveTo(this.playhead - this.length / 2, this.length);
    this.#changed();
  }

  play() {
    if (this.live || this.playing) return;
    if (this.playhead >= this.end) {
      if (this.ended === null) return this.goLive();
      this.playhead = this.first;
    }
    this.playing = true;
    this.reveal();
    this.#changed();
  }

  /** Pauses playing or live, at the time shown. */
  pause() {
    if (!this.playing && !this.live) return;
    this.playing = false;
    this.live = false;
    this.#waited = 0;
    this.#changed();
  }

  toggle() {
    if (this.playing || this.live) this.pause();
    else this.play();
  }

  /** @param {number} speed one of SPEEDS */
  setSpeed(speed) {
    if (!SPEEDS.includes(speed) || speed === this.speed) return;
    this.speed = speed;
    this.#changed();
  }

  /**
   * Pins the window's end and the playhead to now. In a cluster that has ended, goes to its end.
   * @param {number} length of the window; by default as it is
   */
  goLive(length = this.length || DEFAULT_LENGTH) {
    this.playing = false;
    if (this.ended !== null) return this.jump(this.end);
    this.live = true;
    this.stop = this.start + this.#clampLength(length);
    this.#pin();
    this.#changed();
  }

  /**
   * Advances time; returns whether anything moved. Playing keeps its speed however late frames are, and waits for data.
   * @param {number} elapsed seconds of wall time since the call before
   * @param {boolean} isLoaded whether there is data at the playhead
   * @returns {boolean}
   */
  advance(elapsed, isLoaded = true) {
    if (this.live) {
      if (this.now() - this.stop < this.length / this.width) return false;
      this.#pin();
    } else if (this.playing) {
      if (!isLoaded) return this.#wait(elapsed);
      this.#waited = 0;
      this.#play(Math.min(elapsed, LONGEST_STEP) * this.speed);
    } else {
      return false;
    }
    this.#changed();
    return true;
  }

  /** Seconds until `advance` has something to do; Infinity: not by itself. */
  get idleSeconds() {
    if (this.live) return Math.max(this.length / this.width - (this.now() - this.stop), 0);
    return this.playing ? 0 : Infinity;
  }

  /** @param {number} seconds of wall time */
  #wait(seconds) {
    const before = this.isWaiting;
    this.#waited += seconds;
    if (this.isWaiting !== before) this.#changed();
    return false;
  }

  /** @param {number} seconds */
  #play(seconds) {
    const wasInside = this.playhead <= this.stop;
    this.playhead += seconds;
    if (this.playhead >= this.end) {
      this.playing = false;
      this.playhead = this.end;
      if (this.ended === null) {
        this.live = true;
        return this.#pin();
      }
    }
    if (wasInside && this.playhead > this.stop) this.#moveTo(this.playhead - this.length, this.length);
  }

  #pin() {
    const now = this.now();
    this.start = now - this.length;
    this.stop = now;
    this.playhead = now;
  }

  #leaveLive() {
    this.live = false;
  }

  /** @param {number} length */
  #clampLength(length) {
    const longest = Math.max((this.end - this.first) * 1.5, ALWAYS_POSSIBLE);
    return Math.min(Math.max(length, SHORTEST), longest);
  }

  /** @param {number} time */
  #clampTime(time) {
    return Math.min(Math.max(time, this.first), this.end);
  }

  /**
   * At least a tenth of the window stays over what is recorded.
   * @param {number} start
   * @param {number} length
   */
  #moveTo(start, length) {
    const clamped = this.#clampLength(length);
    const latest = this.end - clamped * 0.1;
    const earliest = this.first - clamped * 0.9;
    this.start = Math.min(Math.max(start, earliest), latest);
    this.stop = this.start + clamped;
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
