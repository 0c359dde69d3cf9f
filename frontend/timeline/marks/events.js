// The events of the cluster in order of time, from the tiles of the layer "events", with gaps and notes.

import { DROPPED_KINDS, DROP_REASONS, EVENT_KINDS } from "../../contract.js";
import { formatCount } from "../../formatting.js";
import { binWidth, tileWidth } from "../tiles/levels.js";

/** @typedef {import("../../types.js").Tile} Tile */

/**
 * `detail` is JSON; only a note of a stretch has a `stop`; `count` is greater than 1 where one stands for all of its kind in a bin. A gap is in what it `concerns`: all that is recorded, tasks, samples, or what no chart draws; of the cluster, or of one `worker`.
 * @typedef {{time: number, kind: string, worker: number|null, message: string, detail: string,
 *   count: number, stop?: number|null}} ClusterEvent
 * @typedef {{start: number, stop: number|null, kind: "scheduler"|"stream"|"dropped"|"unobserved"|"slowed"|"unread",
 *   concerns: "all"|"tasks"|"samples"|"other", label: string, worker: number|null}} Gap
 */

/** @type {Record<string, {opens: string|null, closes: string|null}>} */
const KINDS = EVENT_KINDS;
/** @type {Record<string, string>} */
const REASONS = DROP_REASONS;
/** @type {Record<string, {records: string, concerns: string}>} */
const MISSING = DROPPED_KINDS;
const GAP_LABELS = { scheduler: "scheduler did not answer", stream: "no task stream" };
const GAP_CONCERNS = /** @type {const} */ ({ scheduler: "all", stream: "tasks" });
const DROPPED = "records-dropped";
const NOT_OBSERVED = "not-observed";
const SLOWED = "scraping-slowed";
const UNREAD = ["worker-metrics-missing", "scheduler-metrics-missing"];
export const CLUSTER_ENDED = "cluster-ended";
const LONGEST_NOTE = 200; // characters beside the mouse
/** Fires "change" when there are others than before. */
export class Events extends EventTarget {
  /** @type {ClusterEvent[]} */
  list = [];
  /** @type {Gap[]} */
  gaps = [];
  /** whether some kinds are only counted per bin: tiles of a shorter time have the events */
  areCounted = false;
  #rows = -1;
  /** @type {ClusterEvent[]} */
  #recorded = [];
  /** @type {ClusterEvent[]} */
  #notes = [];

  /** @param {Tile[]} tiles of the layer "events" that cover the whole cluster */
  load(tiles) {
    const list = eventsOf(tiles);
    if (list.length === this.#rows) return;
    this.#rows = list.length;
    this.#recorded = list;
    this.areCounted = tiles.some((tile) => tile.blocks.get("event-count")?.some((block) => block.rows));
    this.gaps = findGaps(list);
    this.#join();
  }

  /** @param {import("./notes.js").Note[]} notes shown among the events */
  setNotes(notes) {
    if (!notes.length && !this.#notes.length) return;
    this.#notes = notes.map(({ time, stop, text, author }) => {
      const short = text.length > LONGEST_NOTE ? `${text.slice(0, LONGEST_NOTE)}…` : text;
      const message = author === null ? short : `${author}: ${short}`;
      return { time, stop, kind: "note", worker: null, message, detail: "{}", count: 1 };
    });
    this.#join();
  }

  #join() {
    this.list = inOrder([...this.#recorded, ...this.#notes]);
    this.dispatchEvent(new Event("change"));
  }

  /**
   * What is shown of a window, where the whole cluster's tiles only count.
   * @param {Tile[]} tiles of the layer "events" that cover the window
   */
  within(tiles) {
    return this.areCounted && tiles.length ? inOrder([...eventsOf(tiles), ...this.#notes]) : this.list;
  }

  /**
   * @param {number} time
   * @returns {ClusterEvent|null} the first event after `time`
   */
  after(time) {
    return this.list.find((event) => event.time > time + 1e-6) ?? null;
  }

  /**
   * @param {number} time
   * @returns {ClusterEvent|null} the last event before `time`
   */
  before(time) {
    return this.list.findLast((event) => event.time < time - 1e-6) ?? null;
  }

  /**
   * The times without samples, not only with fewer, and the ends of the cluster: it can have continued later.
   * @returns {import("../../charts/series/series_points.js").Gaps}
   */
  get sampleGaps() {
    const gaps = this.gaps
      .filter(({ kind, concerns }) => kind !== "slowed" && (concerns === "all" || concerns === "samples"))
      .map(({ start, stop, worker }) => ({ start, stop, worker }));
    const ends = this.#recorded.filter((event) => event.kind === CLUSTER_ENDED);
    return [...gaps, ...ends.map(({ time }) => ({ start: time, stop: time, worker: null }))];
  }

  /**
   * @param {number} start
   * @param {number} stop
   * @param {"tasks"|"samples"} [what] those in it alone
   * @param {number[]} [workers] also those of these workers
   * @returns {Gap[]} those that overlap [start, stop)
   */
  gapsBetween(start, stop, what, workers = []) {
    return this.gaps.filter(
      (gap) =>
        gap.start < stop &&
        (gap.stop ?? Infinity) > start &&
        (gap.worker === null || workers.includes(gap.worker)) &&
        (!what || gap.concerns === "all" || gap.concerns === what),
    );
  }
}

/** @param {ClusterEvent[]} events */
function inOrder(events) {
  return events.sort((one, other) => one.time - other.time);
}

/**
 * @param {Tile[]} tiles
 * @returns {ClusterEvent[]}
 */
function eventsOf(tiles) {
  /** @type {ClusterEvent[]} */
  const list = [];
  for (const tile of tiles) {
    for (const block of tile.blocks.get("event") ?? []) {
      const [times, workers] = [block.numbers("time"), block.numbers("worker")];
      const [kinds, messages, details] = [block.texts("kind"), block.texts("message"), block.texts("detail")];
      for (let row = 0; row < block.rows; row++) {
        if (times[row] < tile.start || times[row] >= tile.stop) continue;
        const worker = workers[row] < 0 ? null : workers[row];
        const [message, detail] = [messages.at(row), details.at(row)];
        list.push({ time: times[row], kind: kinds.at(row), worker, message, detail, count: 1 });
      }
    }
    for (const block of tile.blocks.get("event-count") ?? []) list.push(...countedEvents(block, tile));
  }
  return inOrder(list);
}

/**
 * Events that are only counted, at the middles of their bins.
 * @param {import("../../types.js").Block} block
 * @param {Tile} tile
 * @returns {ClusterEvent[]}
 */
function countedEvents(block, tile) {
  const [bins, counts, kinds] = [block.numbers("bin"), block.numbers("count"), block.texts("kind")];
  const origin = block.meta.index * tileWidth(block.meta.level);
  const found = [];
  for (let row = 0; row < block.rows; row++) {
    const time = origin + (bins[row] + 0.5) * binWidth(block.meta.level);
    if (time < tile.start || time >= tile.stop) continue;
    found.push({ time, kind: kinds.at(row), worker: null, message: "", detail: "{}", count: counts[row] });
  }
  return found;
}

/**
 * @param {ClusterEvent[]} events in order of time
 * @returns {Gap[]} `stop` is null for one that is still open
 */
function findGaps(events) {
  /** @type {Gap[]} */
  const gaps = [];
  /** @type {Map<string, Gap>} */
  const open = new Map();
  for (const event of events) {
    if (event.kind === DROPPED) gaps.push(droppedGap(event));
    if (event.kind === NOT_OBSERVED) gaps.push(unobservedGap(event));
    if (event.kind === SLOWED) gaps.push(slowedGap(event));
    if (UNREAD.includes(event.kind)) gaps.push({ ...slowedGap(event), kind: "unread", worker: event.worker });
    const { opens, closes } = KINDS[event.kind] ?? { opens: null, closes: null };
    if ((opens === "scheduler" || opens === "stream") && !open.has(opens)) {
      /** @type {Gap} */
      const gap = {
        start: event.time,
        stop: null,
        kind: opens,
        concerns: GAP_CONCERNS[opens],
        label: GAP_LABELS[opens],
        worker: null,
      };
      open.set(opens, gap);
      gaps.push(gap);
    } else if (closes) {
      const gap = open.get(closes);
      if (gap) gap.stop = event.time;
      open.delete(closes);
    }
  }
  return gaps;
}

/**
 * @param {ClusterEvent} event of kind DROPPED
 * @returns {Gap}
 */
function droppedGap(event) {
  const { first, last, kind, count, reason } = parse(event.detail);
  const { records, concerns } = MISSING[kind] ?? { records: `records of kind ${kind}`, concerns: "other" };
  const number = formatCount(Number(count));
  return {
    start: Number(first) || event.time,
    stop: Number(last) || event.time,
    kind: "dropped",
    concerns: /** @type {Gap["concerns"]} */ (concerns),
    label: `${number} ${records} were dropped: ${REASONS[reason] ?? reason}`,
    worker: null,
  };
}

/**
 * @param {ClusterEvent} event of kind NOT_OBSERVED
 * @returns {Gap}
 */
function unobservedGap(event) {
  const { first, last, reason } = parse(event.detail);
  return {
    start: Number(first) || event.time,
    stop: Number(last) || event.time,
    kind: "unobserved",
    concerns: "all",
    label: reason ? `not recorded: ${reason}` : "not recorded",
    worker: null,
  };
}

/**
 * @param {ClusterEvent} event of kind SLOWED
 * @returns {Gap}
 */
function slowedGap(event) {
  const { first, last, message } = parse(event.detail);
  return {
    start: Number(first) || event.time,
    stop: Number(last) || event.time,
    kind: "slowed",
    concerns: "samples",
    label: String(message),
    worker: null,
  };
}

/**
 * @param {string} detail
 * @returns {Record<string, any>}
 */
function parse(detail) {
  try {
    return JSON.parse(detail) ?? {};
  } catch {
    return {};
  }
}
