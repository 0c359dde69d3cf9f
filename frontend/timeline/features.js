// What belongs to charts rather than to the timeline: their options, and data that several of them share.

/** @typedef {import("../types.js").Context} Context */

/**
 * What a person chose for charts. What the address doesn't say, or says wrongly, is as at first after `readFrom`.
 * @typedef {EventTarget & {readFrom: (parameters: URLSearchParams) => void,
 *   writeTo: (parameters: URLSearchParams) => void}} Options
 */

/** Each is made when it is asked for first, once for a timeline. Fires "change" when one of them does. */
export class Features extends EventTarget {
  /** @type {Map<new (context: Context) => EventTarget, EventTarget>} */
  #made = new Map();
  #context;

  /** @param {Context} context */
  constructor(context) {
    super();
    this.#context = context;
  }

  /**
   * @template {EventTarget} Feature
   * @param {new (context: Context) => Feature} type
   * @returns {Feature}
   */
  of(type) {
    const known = this.#made.get(type);
    if (known) return /** @type {Feature} */ (known);
    const feature = new type(this.#context);
    feature.addEventListener("change", () => this.dispatchEvent(new Event("change")));
    this.#made.set(type, feature);
    return feature;
  }
}
