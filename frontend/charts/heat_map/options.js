// What the heat map shows, and the order and groups of its rows.

export const QUANTITY_NAMES = /** @type {const} */ ([
  "memory",
  "cpu",
  "gil",
  "gpu",
  "busy",
  "duration",
  "errors",
]);
export const HEAT_ORDERS = /** @type {const} */ (["value", "name"]);

const LONGEST_TAG = 100;

/** @typedef {typeof QUANTITY_NAMES[number]} QuantityName */
/** @typedef {typeof HEAT_ORDERS[number]} HeatOrder */

/** Fires "change". */
export class HeatOptions extends EventTarget {
  /** @type {QuantityName} */
  quantity = QUANTITY_NAMES[0];
  /** @type {string|null} "none", "host" or a tag of the workers; null: what suits them */
  group = null;
  /** @type {HeatOrder} */
  order = HEAT_ORDERS[0];

  /** @param {{quantity?: QuantityName, group?: string|null, order?: HeatOrder}} part; what isn't given stays as it is */
  set(part) {
    const { quantity = this.quantity, group = this.group, order = this.order } = part;
    if (quantity === this.quantity && group === this.group && order === this.order) return;
    Object.assign(this, { quantity, group, order });
    this.dispatchEvent(new Event("change"));
  }

  /** @param {URLSearchParams} parameters */
  readFrom(parameters) {
    this.set({
      quantity: QUANTITY_NAMES.find((name) => name === parameters.get("heat")) ?? QUANTITY_NAMES[0],
      group: parameters.get("by")?.slice(0, LONGEST_TAG) || null,
      order: HEAT_ORDERS.find((order) => order === parameters.get("rank")) ?? HEAT_ORDERS[0],
    });
  }

  /** @param {URLSearchParams} parameters */
  writeTo(parameters) {
    if (this.quantity !== QUANTITY_NAMES[0]) parameters.set("heat", this.quantity);
    if (this.group) parameters.set("by", this.group);
    if (this.order !== HEAT_ORDERS[0]) parameters.set("rank", this.order);
  }
}
