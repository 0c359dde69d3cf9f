// The controls above the heat map: its quantity, and the groups and order of its rows.

import { element } from "../../element.js";
import { HEAT_ORDERS, QUANTITY_NAMES } from "./options.js";
import { isDarkTheme, stops } from "./colors.js";
import { QUANTITIES } from "./quantities.js";

/** @typedef {import("./options.js").HeatOptions} HeatOptions */
/** @typedef {import("./quantities.js").Quantity} Quantity */

export class HeatControls {
  bar;
  scale = element("ul", "legend heat-scale");
  #quantity;
  #group = element("select", "");
  #groupLabel = element("label", "", "Group ", this.#group);
  #order;
  #groups = "";
  #drawn = "";
  #options;

  /** @param {HeatOptions} options */
  constructor(options) {
    this.#options = options;
    this.#quantity = select(QUANTITY_NAMES.map((name) => [name, QUANTITIES[name].label]));
    this.#order = select(HEAT_ORDERS.map((order) => [order, order === "value" ? "greatest first" : order]));
    const labels = [
      element("label", "", "Show ", this.#quantity),
      this.#groupLabel,
      element("label", "", "Order ", this.#order),
    ];
    this.bar = element("div", "lane-controls", ...labels);
    const chosen = (/** @type {HTMLSelectElement} */ from) => /** @type {any} */ (from.value);
    this.#quantity.addEventListener("change", () => options.set({ quantity: chosen(this.#quantity) }));
    this.#group.addEventListener("change", () => options.set({ group: chosen(this.#group) }));
    this.#order.addEventListener("change", () => options.set({ order: chosen(this.#order) }));
  }

  /**
   * @param {string[]} groupings
   * @param {string} grouping that is chosen
   */
  update(groupings, grouping) {
    const groups = JSON.stringify(groupings);
    if (groups !== this.#groups) this.#group.replaceChildren(...groupings.map((by) => option(by, by)));
    this.#groups = groups;
    this.#groupLabel.hidden = groupings.length < 2;
    this.#group.value = grouping;
    this.#quantity.value = this.#options.quantity;
    this.#order.value = this.#options.order;
  }

  /**
   * The values of the colours.
   * @param {Quantity} quantity
   * @param {number} top value of the strongest colour
   * @param {boolean} isOver whether some value is greater
   */
  drawScale({ unit }, top, isOver) {
    const colors = stops(isDarkTheme());
    const texts = colors.map((_, at) => {
      const value = (top * at) / (colors.length - 1);
      return `${unit.write(value)}${isOver && at === colors.length - 1 ? " and more" : ""}`;
    });
    const drawn = JSON.stringify([colors, texts]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const entries = colors.map((color, at) => {
      const swatch = element("i", "");
      swatch.style.backgroundColor = color;
      return element("li", "", swatch, texts[at]);
    });
    this.scale.replaceChildren(...entries);
  }
}

/** @param {[value: string, text: string][]} options */
function select(options) {
  return element("select", "", ...options.map(([value, text]) => option(value, text)));
}

/** @param {string} value @param {string} text */
function option(value, text) {
  const made = element("option", "", text);
  made.value = value;
  return made;
}
