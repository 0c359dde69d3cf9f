// The pairs of senders and receivers by slot: the successive lifetimes of one worker are one row.

import { sortedByName } from "../../name_order.js";
import { newest } from "../../timeline/slots.js";

/** @typedef {import("../../timeline/model.js").Model} Model */
/** @typedef {import("../../types.js").Schemas["TransferCell"]} Cell */
/** @typedef {import("../../types.js").Schemas["TransferPlace"]} Place */
/** @typedef {{places: Place[], cells: Cell[]}} Pairs */

const KINDS = ["worker", "host", "unknown", "others"]; // in the order of the rows

/**
 * @param {Pairs} pairs of lifetimes
 * @param {Model} model
 * @param {(place: Place) => string} nameOf by which the rows are sorted
 * @returns {Pairs}
 */
export function bySlot({ places, cells }, model, nameOf) {
  /** @type {Map<string, Place>} */
  const found = new Map();
  const keys = places.map((place) => {
    const slot = model.slotOf(place.worker);
    const key = slot ? `slot ${slot.key}` : `${place.kind} ${place.worker} ${place.host}`;
    if (!found.has(key)) found.set(key, slot ? { ...place, worker: newest(slot).id } : place);
    return key;
  });
  const rank = (/** @type {[string, Place]} */ [, { kind }]) => KINDS.indexOf(kind);
  const ordered = sortedByName(found, ([, place]) => nameOf(place)).sort(
    (one, other) => rank(one) - rank(other),
  );
  const numbers = new Map(ordered.map(([key], number) => [key, number]));
  /** @type {Map<string, Cell>} */
  const sums = new Map();
  for (const cell of cells) {
    const [sender, receiver] = [cell.sender, cell.receiver].map((place) => numbers.get(keys[place]) ?? 0);
    const sum = sums.get(`${sender} ${receiver}`);
    if (!sum) sums.set(`${sender} ${receiver}`, { ...cell, sender, receiver });
    else
      for (const name of /** @type {const} */ (["count", "nbytes", "seconds", "unsized"]))
        sum[name] += cell[name];
  }
  return { places: ordered.map(([, place]) => place), cells: [...sums.values()] };
}
