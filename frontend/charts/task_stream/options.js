// The order, the filter and the label of the task stream's rows.

export const ORDERS = /** @type {const} */ (["name", "busiest", "most memory", "first seen", "label"]);

const LONGEST_TEXT = 100;
const LONGEST_VALUE = 300;

/** @typedef {typeof ORDERS[number]} Order */
/**
 * `order` is null for what suits the number of workers; `filter` has words that must all occur in a worker's name, address,
 * host or status; with `onlyPrefix` only workers that were at work on the selected prefix have rows. `label` marks the rows
 * by its values, `value` is the one of which workers have rows, null: of all.
 * @typedef {{order: Order|null, filter: string, onlyPrefix: boolean, label: string|null, value: string|null}} LaneChoice
 */

/** Fires "change". */
export class LaneOptions extends EventTarget {
  /** @type {LaneChoice} */
  #choice = { order: null, filter: "", onlyPrefix: false, label: null, value: null };

  get order() {
    return this.#choice.order;
  }

  get filter() {
    return this.#choice.filter;
  }

  get onlyPrefix() {
    return this.#choice.onlyPrefix;
  }

  get label() {
    return this.#choice.label;
  }

  get value() {
    return this.#choice.value;
  }

  /** @param {Partial<LaneChoice>} part; what isn't given stays as it is. Another label has other values. */
  set(part) {
    const next = { ...this.#choice, ...part };
    if (next.label === null || (next.label !== this.label && part.value === undefined)) next.value = null;
    if (JSON.stringify(next) === JSON.stringify(this.#choice)) return;
    this.#choice = next;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {URLSearchParams} parameters */
  readFrom(parameters) {
    this.set({
      order: ORDERS.find((order) => nameOf(order) === parameters.get("sort")) ?? null,
      filter: parameters.get("rows")?.slice(0, LONGEST_TEXT) ?? "",
      onlyPrefix: parameters.get("only") === "prefix",
      label: parameters.get("label")?.slice(0, LONGEST_TEXT) || null,
      value: parameters.get("value")?.slice(0, LONGEST_VALUE) || null,
    });
  }

  /** @param {URLSearchParams} parameters */
  writeTo(parameters) {
    const { order, filter, onlyPrefix, label, value } = this.#choice;
    const texts = { sort: order && nameOf(order), rows: filter, only: onlyPrefix && "prefix", label, value };
    for (const [name, text] of Object.entries(texts)) if (text) parameters.set(name, text);
  }
}

/** @param {Order} order; its name in the address */
function nameOf(order) {
  return order.replace(" ", "-");
}
