// The rows of the task stream: one for each thread of each worker, or for several where they don't fit. A worker that
// came again has the rows that it had before.

import { hostOfWorker } from "../../../timeline/labels.js";
import { newest, slotLabel } from "../../../timeline/slots.js";

/** @typedef {import("../../../timeline/model.js").Model} Model */
/** @typedef {import("../../../timeline/slots.js").Slot} Slot */
/** @typedef {import("../../../types.js").Worker} Worker */

/**
 * A row of the task stream. `lanes` of successive lifetimes are in order of time; `threads` is how many can be busy at once
 * in it; `slot` is the worker's, null where it has several workers. One of its GPUs has no lanes.
 * @typedef {{lanes: number[], threads: number, slot: string|null, isGpu?: boolean}} Row
 * Rows that share a name: `first` and `count` are rows, `folds` names what a click folds or unfolds.
 * @typedef {{label: string, slots: Slot[], first: number, count: number, depth: number,
 *   folds: string|null, isOpen: boolean}} Group
 * @typedef {{groups: Group[], rows: Row[], height: number}} Layout
 * Options of the rows: `open` has the `folds` of unfolded rows, `rank` sorts slots, `keep` says
 * who has rows, `keepLifetime` which of a worker's lifetimes, `hasGpu` who has a row for its GPUs, where there is room; rows that `fills` says to fill the room are higher than others.
 * @typedef {{filter: string, open: Set<string>, rank: ((slot: Slot) => number)|null,
 *   keep?: ((slot: Slot) => boolean)|null, keepLifetime?: ((worker: Worker) => boolean)|null,
 *   hasGpu?: ((slot: Slot) => boolean)|null, fills?: boolean}} Wishes
 */

const LOWEST_ROW = 6; // px
const LOWEST_GROUP = 13; // px: of a row that has a name of its own
const HIGHEST_ROW = 22;
const HIGHEST_FILLING_ROW = 100; // a single thread's would be the whole chart

/**
 * The rows of the workers that lived in [start, stop).
 * @param {Model} model
 * @param {number} start
 * @param {number} stop
 * @param {number} room px
 * @param {Wishes} wishes
 * @returns {Layout} `height` is a row's, in px
 */
export function layoutLanes(
  model,
  start,
  stop,
  room,
  { filter, open, rank, keep, keepLifetime = null, hasGpu = null, fills = false },
) {
  const there = model.slotsBetween(start, stop).flatMap((slot) => withLifetimes(slot, keepLifetime));
  const slots = there.filter((slot) => matches(slot, filter) && (keep?.(slot) ?? true));
  if (rank) {
    const ranks = new Map(slots.map((slot) => [slot, rank(slot)]));
    slots.sort((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0));
  }
  /** @type {Layout} */
  const layout = { groups: [], rows: [], height: HIGHEST_ROW };
  const threads = slots.reduce((sum, slot) => sum + threadsOf(model, slot), 0);
  const hosts = byHost(slots);
  const fits = threads * LOWEST_ROW <= room;
  const gpus = new Set(hasGpu ? slots.filter(hasGpu) : []);
  const haveRoom = (threads + gpus.size) * LOWEST_ROW <= room;
  if (fits) for (const slot of slots) addThreads(layout, model, slot, 0, null, haveRoom && gpus.has(slot));
  else if (slots.length * LOWEST_GROUP <= room || hosts.size < 2) {
    for (const slot of slots) addWorker(layout, model, slot, 0, open);
  } else for (const [host, its] of hosts) addHost(layout, model, host, its, open);
  const lowest = fits ? LOWEST_ROW : LOWEST_GROUP;
  const height = room / Math.max(layout.rows.length, 1);
  layout.height = fills
    ? Math.min(Math.max(height, lowest), HIGHEST_FILLING_ROW)
    : Math.min(Math.max(Math.floor(height), lowest), HIGHEST_ROW);
  return layout;
}

/**
 * The rows in sight with their places in the image, in its pixels.
 * @param {Layout} layout
 * @param {number} scroll px
 * @param {number} height of what is in sight, in px
 * @param {number} ratio the image's pixels in a px
 */
export function placedRows({ rows, height: step }, scroll, height, ratio) {
  return rows.flatMap((row, number) => {
    const top = Math.round((number * step - scroll) * ratio);
    const bottom = Math.round(((number + 1) * step - scroll) * ratio) - (step > 4 ? 1 : 0);
    if (bottom <= 0 || top >= height * ratio) return [];
    const visibleTop = Math.max(top, 0);
    return [{ ...row, top: visibleTop, height: bottom - visibleTop }];
  });
}

/**
 * @param {Slot} slot
 * @param {((worker: Worker) => boolean)|null} keep
 * @returns {Slot[]} the slot with the lifetimes that are kept, or none
 */
function withLifetimes(slot, keep) {
  const lifetimes = keep ? slot.lifetimes.filter(keep) : slot.lifetimes;
  return lifetimes.length ? [{ ...slot, lifetimes }] : [];
}

/**
 * @param {Layout} layout
 * @param {Model} model
 * @param {Slot} slot
 * @param {number} depth
 * @param {string|null} folds
 * @param {boolean} [withGpu]
 */
function addThreads(layout, model, slot, depth, folds, withGpu = false) {
  const lanes = slot.lifetimes.map(({ id }) => model.lanesOf(id));
  const threads = threadsOf(model, slot);
  const count = threads + Number(withGpu);
  const group = { label: slotLabel(slot), slots: [slot], first: layout.rows.length, count, depth };
  layout.groups.push({ ...group, folds, isOpen: folds !== null });
  for (let position = 0; position < threads; position++) {
    const its = lanes.flatMap((list) => (list[position] ? [list[position].id] : []));
    layout.rows.push({ lanes: its, threads: 1, slot: slot.key });
  }
  if (withGpu) layout.rows.push({ lanes: [], threads: 1, slot: slot.key, isGpu: true });
}

/**
 * @param {Layout} layout
 * @param {Model} model
 * @param {Slot} slot
 * @param {number} depth
 * @param {Set<string>} open
 */
function addWorker(layout, model, slot, depth, open) {
  const folds = threadsOf(model, slot) > 1 ? `worker ${slot.key}` : null;
  if (folds && open.has(folds)) return addThreads(layout, model, slot, depth, folds);
  const group = { label: slotLabel(slot), slots: [slot], first: layout.rows.length, count: 1, depth };
  layout.groups.push({ ...group, folds, isOpen: false });
  layout.rows.push({ lanes: lanesOf(model, slot), threads: threadsOf(model, slot), slot: slot.key });
}

/**
 * @param {Layout} layout
 * @param {Model} model
 * @param {string} host
 * @param {Slot[]} slots
 * @param {Set<string>} open
 */
function addHost(layout, model, host, slots, open) {
  const folds = `host ${host}`;
  const isOpen = open.has(folds);
  layout.groups.push({ label: host, slots, first: layout.rows.length, count: 1, depth: 0, folds, isOpen });
  const lanes = slots.flatMap((slot) => lanesOf(model, slot));
  layout.rows.push({ lanes, threads: peakThreads(model, slots), slot: null });
  if (isOpen) for (const slot of slots) addWorker(layout, model, slot, 1, open);
}

/**
 * @param {Model} model
 * @param {Slot} slot
 * @returns {number[]} ids
 */
function lanesOf(model, { lifetimes }) {
  return lifetimes.flatMap((worker) => model.lanesOf(worker.id).map((lane) => lane.id));
}

/**
 * Workers that died and came again aren't there twice.
 * @param {Model} model
 * @param {Slot[]} slots
 */
function peakThreads(model, slots) {
  const changes = slots.flatMap(({ lifetimes }) =>
    lifetimes.flatMap((worker, place) => [
      { time: worker.started, change: threadsOfLifetime(model, worker) },
      {
        time: Math.min(worker.ended ?? Infinity, lifetimes[place + 1]?.started ?? Infinity),
        change: -threadsOfLifetime(model, worker),
      },
    ]),
  );
  changes.sort((one, other) => one.time - other.time || one.change - other.change);
  let threads = 0;
  let peak = 1;
  for (const { change } of changes) peak = Math.max(peak, (threads += change));
  return peak;
}

/**
 * The most threads that one lifetime has.
 * @param {Model} model
 * @param {Slot} slot
 */
function threadsOf(model, { lifetimes }) {
  return Math.max(...lifetimes.map((worker) => threadsOfLifetime(model, worker)));
}

/**
 * @param {Model} model
 * @param {Worker} worker
 */
function threadsOfLifetime(model, worker) {
  return Math.max(worker.nthreads, model.lanesOf(worker.id).length, 1);
}

/**
 * In the order of their first slots. A worker is on the host of its newest lifetime.
 * @param {Slot[]} slots
 */
function byHost(slots) {
  /** @type {Map<string, Slot[]>} */
  const hosts = new Map();
  for (const slot of slots) {
    const host = hostOfWorker(newest(slot));
    const its = hosts.get(host);
    if (its) its.push(slot);
    else hosts.set(host, [slot]);
  }
  return hosts;
}

/**
 * @param {Slot} slot
 * @param {string} filter words that must all occur in the name, address, host or status of one of its lifetimes
 */
function matches({ lifetimes }, filter) {
  const words = filter.toLowerCase().split(/\s+/);
  return lifetimes.some((worker) => {
    const status = worker.ended === null ? worker.status : `ended ${worker.end_reason}`;
    const text = `${worker.name} ${worker.address} ${worker.host} ${status}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
