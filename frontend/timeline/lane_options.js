// The order and the filter of the task stream's rows.

export const ORDERS = /** @type {const} */ (["name", "busiest", "most memory", "first seen"]);

/** @typedef {typeof ORDERS[number]} Order */

/** Fires "change". */
export class LaneOptions extends EventTarget {
  /** @type {Order|null} null: what suits the number of workers */
  order = null;
  /** words that must all occur in a worker's name, address, host or status */
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
