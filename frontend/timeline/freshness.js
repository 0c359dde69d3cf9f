// Whether live data arrives, and how far it is behind the present.

import { formatDuration } from "../formatting.js";

/** @typedef {import("../types.js").ClusterInfo} ClusterInfo */
/** @typedef {import("./timeline.js").Timeline} Timeline */
/** @typedef {import("./tiles/unloaded.js").Unloaded} Unloaded */

const USUAL = 2; // seconds between an event and its arrival
const AT_WORK = ["waiting", "no-worker", "queued", "processing"]; // states of tasks that aren't done

/** Fires "change" when the connection was lost, refused or is back. */
export class Freshness extends EventTarget {
  /** @type {boolean|null} whether updates arrive; null: none was expected yet */
  #connected = null;
  /** the server's reason for refusing updates */
  #refused = "";
  #info;
  #timeline;

  /**
   * @param {ClusterInfo} info
   * @param {Timeline} timeline
   */
  constructor(info, timeline) {
    super();
    this.#info = info;
    this.#timeline = timeline;
  }

  get connected() {
    return this.#connected;
  }

  get refused() {
    return this.#refused;
  }

  /**
   * @param {boolean} connected
   * @param {string} [refused]
   */
  set(connected, refused = "") {
    if (connected === this.#connected && refused === this.#refused) return;
    this.#connected = connected;
    this.#refused = refused;
    this.dispatchEvent(new Event("change"));
  }

  /** True while the cluster is live and its updates arrive. */
  get isReceiving() {
    return this.#info.ended === null && this.#connected !== false && !this.#refused;
  }

  /** Whole seconds that the recording is behind the scheduler's clock; 0 up to the usual delay. */
  get behind() {
    const { ended, committed, first } = this.#info;
    if (ended !== null || !first) return 0;
    const seconds = Math.floor(this.#timeline.now() - Math.max(committed, first));
    return seconds > USUAL ? seconds : 0;
  }

  /** Seconds since the agent or the scheduler was last heard, as far as the server says; 0: not unusually long. */
  get unheard() {
    return this.isReceiving ? Math.floor(this.#info.unheard ?? 0) : 0;
  }

  /** "12 s behind", or "last heard 40 s ago" where nothing comes any more; empty up to the usual delay. */
  get text() {
    const { unheard } = this;
    return unheard ? `last heard ${wholeSeconds(unheard)} ago` : this.#behindText;
  }

  get #behindText() {
    return this.behind ? `${wholeSeconds(this.behind)} behind` : "";
  }

  /**
   * What a cluster's page is, in a word. It is idle when nothing runs or waits.
   * @param {import("../types.js").State|null} state the current one
   * @returns {"ended"|"disconnected"|"unheard"|"behind"|"idle"|"live"}
   */
  status(state) {
    if (this.#info.ended !== null) return "ended";
    if (!this.isReceiving) return "disconnected";
    if (this.unheard) return "unheard";
    if (this.behind) return "behind";
    return isIdle(state) ? "idle" : "live";
  }

  /**
   * The time of which nothing has arrived yet.
   * @returns {Unloaded[]}
   */
  unreceived() {
    const { behind } = this;
    if (!behind) return [];
    const stop = this.#timeline.now();
    const message = `not received yet: ${this.#behindText}`;
    return [{ start: stop - behind, stop, message, failed: !this.isReceiving }];
  }
}

/** @param {number} seconds */
function wholeSeconds(seconds) {
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds);
}

/** @param {import("../types.js").State|null} state */
function isIdle(state) {
  if (!state || state.tasks_at === null) return false;
  return AT_WORK.every((name) => !state.tasks[name]);
}
