// The label of the rows: a numbered mark in the colour of its value beside each, and a legend whose values are a filter.

import { element } from "../../../element.js";
import { formatCount } from "../../../formatting.js";
import { SITE } from "../../../site.js";
import { labelsOf, valueOf, valuesOf } from "../../../timeline/labels.js";
import { workerColor } from "../../drawing/palette.js";
import { theme } from "../../drawing/theme.js";
import { isDark } from "../bar_labels.js";
import { LaneOptions } from "../options.js";

/** @typedef {import("../../../types.js").Context} Context */
/** @typedef {import("../../../types.js").Worker} Worker */
/** @typedef {import("./rows.js").Group} Group */

const MOST_LISTED = 40;
const MOST_COLORED = 99; // values with a number that fits into a mark
const WIDTH = 14; // px of a mark
const GAP = 3; // px between a mark and the plot
const LOWEST_NUMBER = 10; // px of a mark with its number

export class LaneLabels {
  list = element("ul", "legend lane-labels");
  #context;
  #options;
  #version = -1;
  /** @type {string[]} */
  #names = [];
  /** @type {Map<string, number>} places of the chosen label's values */
  #places = new Map();
  #placesOf = "";
  #drawn = "";

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#options = context.features.of(LaneOptions);
  }

  /** The labels that tell the cluster's workers apart. */
  get names() {
    const { model } = this.#context;
    if (model.version !== this.#version) {
      this.#version = model.version;
      this.#names = labelsOf([...model.workers.values()]);
    }
    return this.#names;
  }

  /** The chosen label; null where there is none, or workers have no such label, as behind a public link. */
  get chosen() {
    const { label } = this.#options;
    return label !== null && this.names.includes(label) ? label : null;
  }

  /** The value of which workers have rows; null: of all. */
  get value() {
    const { value } = this.#options;
    return value !== null && this.chosen !== null && this.#values.has(value) ? value : null;
  }

  /** Whether a worker has rows; null: all have. @returns {((worker: Worker) => boolean)|null} */
  get keep() {
    const { chosen, value } = this;
    return chosen === null || value === null ? null : (worker) => valueOf(worker, chosen) === value;
  }

  /** px that marks take of the room for names */
  get room() {
    return this.chosen === null ? 0 : WIDTH + GAP;
  }

  get #values() {
    const { model } = this.#context;
    const { chosen } = this;
    const of = `${model.version} ${chosen}`;
    if (of !== this.#placesOf) {
      this.#placesOf = of;
      const values = chosen === null ? [] : valuesOf([...model.workers.values()], chosen);
      this.#places = new Map(values.map((value, place) => [value, place]));
    }
    return this.#places;
  }

  /** @param {Worker} worker @returns {number} the place of its value; 0 without a label */
  placeOf(worker) {
    const { chosen } = this;
    return chosen === null ? 0 : (this.#values.get(valueOf(worker, chosen)) ?? 0);
  }

  /**
   * The mark of a row: of workers with different values, a part for each.
   * @param {CanvasRenderingContext2D} context
   * @param {Group} group
   * @param {number} top px
   * @param {number} height px
   * @param {number} left where the plot begins, in px
   */
  drawMark(context, { slots }, top, height, left) {
    if (this.chosen === null) return;
    /** @type {Map<number, number>} */
    const counts = new Map();
    for (const worker of slots.flatMap(({ lifetimes }) => lifetimes)) {
      const place = this.placeOf(worker);
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    const parts = [...counts].sort(([one], [other]) => one - other);
    const whole = parts.reduce((sum, [, count]) => sum + count, 0);
    context.font = "10px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    let from = top + 1;
    for (const [place, count] of parts) {
      const size = ((height - 2) * count) / whole;
      const color = colorOf(place);
      context.fillStyle = color;
      context.fillRect(left - GAP - WIDTH, from, WIDTH, size);
      if (size >= LOWEST_NUMBER && place < MOST_COLORED) {
        context.fillStyle = isDark(color) ? "#ffffff" : "#000000";
        context.fillText(String(place + 1), left - GAP - WIDTH / 2, from + Math.min(size / 2, 40) + 0.5);
      }
      from += size;
    }
    context.textAlign = "start";
    context.textBaseline = "alphabetic";
  }

  /** Shows the values of the chosen label as they are now. */
  drawLegend() {
    const { chosen, value } = this;
    const { source } = this.#context;
    const values = [...this.#values.keys()];
    const drawn = JSON.stringify([chosen, value, values]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.list.hidden = chosen === null;
    if (chosen === null) return this.list.replaceChildren();
    this.list.setAttribute("aria-label", `Values of ${chosen}`);
    const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset.value;
    const hadFocus = this.list.contains(document.activeElement);
    const entries = values
      .slice(0, MOST_LISTED)
      .map((each, place) => this.#entry(each, place, each === value));
    const left = values.length - entries.length;
    const more = left > 0 ? [element("li", "", `and ${formatCount(left)} more`)] : [];
    this.list.replaceChildren(element("li", "", `${chosen}:`), ...entries, ...more);
    if (source.run !== undefined) this.list.append(element("li", "", compareLink(source.run, chosen)));
    if (!hadFocus) return;
    for (const button of this.list.querySelectorAll("button"))
      if (button.dataset.value === focused) button.focus();
  }

  /**
   * @param {string} value
   * @param {number} place
   * @param {boolean} isOnly whether the rows are those of its workers alone
   */
  #entry(value, place, isOnly) {
    const number = element("i", "lane-label", place < MOST_COLORED ? String(place + 1) : "");
    number.setAttribute("aria-hidden", "true");
    number.style.backgroundColor = colorOf(place);
    number.style.color = isDark(colorOf(place)) ? "#ffffff" : "#000000";
    const button = element("button", "", number, value);
    button.type = "button";
    button.dataset.value = value;
    button.title = isOnly ? "Click to show all workers again." : "Click to show only its workers.";
    button.setAttribute("aria-pressed", String(isOnly));
    button.addEventListener("click", () => this.#options.set({ value: isOnly ? null : value }));
    return element("li", "", button);
  }
}

/** @param {number} place of a value among those of its label */
function colorOf(place) {
  return place < MOST_COLORED ? workerColor(place) : theme().idle;
}

/**
 * @param {number} run
 * @param {string} label
 */
function compareLink(run, label) {
  const link = element("a", "", "compare");
  link.href = `${SITE}/runs/${run}/compare-workers/?${new URLSearchParams({ label })}`;
  link.title = `Compare the workers of two values of ${label}`;
  return link;
}
