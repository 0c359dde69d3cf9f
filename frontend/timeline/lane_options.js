// How people want the task stream's rows: in which order, and which of them.

export const ORDERS = /** @type {const} */ (["name", "busiest", "most memory", "first seen"]);

/** @typedef {typeof ORDERS[number]} Order */

/** Fires "change". */
export class LaneOptions extends EventTarget {
  /** @type {Order|null} null: what suits the number of workers */
  order = null;
  /** words that all have to be in a worker's name, address, host or status */
  filter = "";
  /** whether only workers that were at work on the selected prefix have rows */
  onlyPrefix = false;

  /** @param {{order?: Order|null, filter?: string, onlyPrefix?: boolean}} part; what isn't given stays as it is */
  set(part) {
    const { order = this.order, filter = this.filter, onlyPrefix = this.onlyPrefix } = part;
    if (order === this.order && filter === this.filter && onlyPrefix === this.onlyPrefix) return;
    Object.assign(this, { order, filter, onlyPrefix });
    this.dispatchEvent(new Event("change"));
  }
}
