// Stolen tasks: those that Dask moved from a worker with much work to one with little, of the window and as much beside it.

/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {Schemas["StolenTask"]} Steal */
/** @typedef {import("../model.js").Model} Model */
/** @typedef {import("../timeline.js").Timeline} Timeline */

const [PAUSE, LIVE_PAUSE] = [500, 5000]; // ms between two requests
const CLOCKS = 1; // second by which a steal can be reported later than the task began
const LATE = 10; // seconds: what happened before is stored

/** Fires "change" when others are known. */
export class Stolen extends EventTarget {
  /** @type {Steal[]} in order of time */
  list = [];
  /** number of all in the time that was asked for; the list has the first */
  total = 0;
  /** @type {Map<string, Steal[]>} */
  #byKey = new Map();
  #source;
  #timeline;
  #isRecorded;
  /** what the list is of */
  #known = { start: Infinity, stop: -Infinity };
  #timer = 0;
  #requested = -Infinity;

  /**
   * @param {import("../sources/source.js").Source} source
   * @param {Timeline} timeline
   * @param {boolean} hasAgent others record no steals
   */
  constructor(source, timeline, hasAgent) {
    super();
    this.#source = source;
    this.#timeline = timeline;
    this.#isRecorded = hasAgent;
  }

  /** Requests the steals of the timeline's window, if they aren't known and that is not too soon. */
  update() {
    if (!this.#isRecorded || this.#timer || this.#isKnown()) return;
    const wait = this.#requested + (this.#timeline.live ? LIVE_PAUSE : PAUSE) - performance.now();
    this.#timer = window.setTimeout(() => void this.#load(), Math.max(wait, 0));
  }

  /**
   * @param {number} start
   * @param {number} stop
   */
  between(start, stop) {
    return this.list.filter(({ time }) => time >= start && time < stop);
  }

  /**
   * @param {string} key
   * @param {number|undefined} worker id of the one that computed it
   * @param {number} start of the span
   * @returns {Steal|null} how that worker got the task
   */
  of(key, worker, start) {
    const steals = this.#byKey
      .get(key)
      ?.filter(({ thief, time }) => thief === worker && time <= start + CLOCKS);
    return steals?.at(-1) ?? null;
  }

  /** Whether there are more than the list has. */
  get isCut() {
    return this.list.length < this.total;
  }

  #isKnown() {
    const { start, stop, length } = this.#timeline;
    const { start: from, stop: to } = this.#known;
    return from <= start && stop <= to && (!this.isCut || to - from <= 1.01 * length);
  }

  async #load() {
    const { start, stop, length } = this.#timeline;
    // once it is known that there are too many for that, as much beside the window isn't asked for
    const margin = this.isCut ? 0 : length;
    const [from, to] = [Math.max(start - margin, 0), stop + margin];
    this.#requested = performance.now();
    try {
      const response = await this.#source.fetch(
        `${this.#source.url}/stolen?after=${from.toFixed(6)}&before=${to.toFixed(6)}`,
      );
      if (response.status === 404) this.#isRecorded = false; // a file has none
      if (response.ok) this.#set(await response.json(), from, to);
    } catch {
      // the server is away: asked again when the window is drawn again
    }
    this.#timer = 0;
    if (this.#known.stop === to) this.update(); // the window may have moved on
  }

  /**
   * @param {Schemas["StolenTasks"]} answer
   * @param {number} start
   * @param {number} stop
   */
  #set({ total, tasks }, start, stop) {
    const { ended } = this.#timeline;
    this.#known = { start, stop: ended === null ? Math.min(stop, this.#timeline.now() - LATE) : stop };
    const isSame =
      total === this.total && tasks.length === this.list.length && tasks[0]?.time === this.list[0]?.time;
    if (isSame) return;
    this.total = total;
    this.list = tasks;
    this.#byKey = new Map();
    for (const steal of tasks) {
      const known = this.#byKey.get(steal.key);
      if (known) known.push(steal);
      else this.#byKey.set(steal.key, [steal]);
    }
    this.dispatchEvent(new Event("change"));
  }
}
