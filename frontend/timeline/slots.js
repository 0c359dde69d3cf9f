// Slots: the places that the successive lifetimes of one worker fill. A slot is one row on screen.

import { formatCountOf } from "../formatting.js";

/** @typedef {import("../types.js").Worker} Worker */

/**
 * `lifetimes` has at least one, in order of their starts.
 * @typedef {{key: string, lifetimes: Worker[]}} Slot
 */

/**
 * @param {Iterable<Worker>} workers
 * @returns {Map<string, Slot>} by key, in the order of their first lifetimes in `workers`
 */
export function slotsOf(workers) {
  /** @type {Map<string, Slot>} */
  const slots = new Map();
  for (const worker of workers) {
    const slot = slots.get(worker.slot);
    if (slot) slot.lifetimes.push(worker);
    else slots.set(worker.slot, { key: worker.slot, lifetimes: [worker] });
  }
  for (const { lifetimes } of slots.values()) lifetimes.sort((one, other) => one.started - other.started);
  return slots;
}

/** @param {Slot} slot */
export function newest({ lifetimes }) {
  return lifetimes[lifetimes.length - 1];
}

/**
 * The process that filled a slot at a time; null where none did.
 * @param {Slot|null} slot
 * @param {number} time
 */
export function lifetimeAt(slot, time) {
  return slot?.lifetimes.find(({ started, ended }) => started <= time && (ended ?? Infinity) > time) ?? null;
}

/** @param {Worker} worker; its name, or its address without the protocol */
export function workerLabel(worker) {
  return (worker.name || worker.address).replace(/^\w+:\/\//, "");
}

/**
 * @param {string} name
 * @param {number} most characters
 * @returns {string} with its beginning and end, which tell apart the names of workers
 */
export function shortName(name, most) {
  if (name.length <= most) return name;
  const end = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - end)}…${name.slice(-end)}`;
}

/** @param {Slot} slot */
export function slotLabel(slot) {
  return workerLabel(newest(slot));
}

/**
 * @param {number} slots
 * @param {number} lifetimes
 * @returns {string} "3 workers (7 lifetimes)", or "3 workers" where none came again
 */
export function formatWorkers(slots, lifetimes) {
  const workers = formatCountOf(slots, "worker");
  return lifetimes > slots ? `${workers} (${formatCountOf(lifetimes, "lifetime")})` : workers;
}

/**
 * The times between the lifetimes of a worker.
 * @param {Worker[]} lifetimes in order of their starts
 * @returns {{start: number, stop: number}[]}
 */
export function pausesOf(lifetimes) {
  return lifetimes.slice(1).flatMap(({ started }, place) => {
    const { ended } = lifetimes[place];
    return ended !== null && ended < started ? [{ start: ended, stop: started }] : [];
  });
}
