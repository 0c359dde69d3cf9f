// The tables of functions below a flame graph: of one profile, and of two that are compared.

import { DifferenceTable } from "./difference_table.js";
import { FlameTable } from "./table.js";
import { nameOf, samples } from "./text.js";
import { usages } from "./tree.js";

/** @typedef {import("./difference.js").Difference} Difference */
/** @typedef {import("./tree.js").Node} Node */

/**
 * @typedef {object} Profiles
 * @property {string} drawn name of the profile that is drawn
 * @property {string} other of that which it is compared with
 * @property {number} total samples of the drawn one
 * @property {import("./tree.js").Wanted["source"]} source
 */

/** Dispatches `choose` when a function is chosen, or no more. */
export class FunctionTables extends EventTarget {
  #table = new FlameTable();
  #differences = new DifferenceTable();
  elements = [this.#table.table, this.#differences.element];
  /** @type {Node|null} */
  #focus = null;
  /** @type {Difference|null} */
  #difference = null;
  #unit = "samples";

  constructor() {
    super();
    for (const table of [this.#table, this.#differences])
      table.addEventListener("choose", () => this.dispatchEvent(new Event("choose")));
  }

  /**
   * @param {Node} focus whose functions are listed
   * @param {Difference|null} difference
   * @param {Profiles} profiles
   */
  show(focus, difference, profiles) {
    this.#focus = focus;
    this.#difference = difference;
    this.#unit = profiles.source === "files" ? "microseconds" : "samples";
    this.#differences.element.hidden = !difference;
    const where = focus.of ? ` in ${nameOf(focus)}` : "";
    if (difference) {
      this.#table.table.hidden = true;
      const caption = `Functions${where}: shares of all samples of ${profiles.drawn} (drawn) and ${profiles.other} (other)`;
      this.#differences.show(difference.functions(focus), profiles, caption);
    } else {
      const share = where ? `${where}, by share of its ` : " by share of ";
      const caption = `Functions${share}${samples(focus.total, profiles.source)}`;
      this.#table.show(usages(focus), focus.total, caption);
    }
  }

  /** The function that is chosen in the table that is shown. */
  get chosen() {
    return this.#shown.chosen;
  }

  /** Chooses none. */
  clear() {
    this.#shown.choose(null);
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    if (this.#difference) return this.#differences.table();
    const rows = this.#focus
      ? usages(this.#focus).map(({ of, own, total }) => [of.name, of.file, own, total])
      : [];
    return { columns: ["function", "file", `own ${this.#unit}`, `all ${this.#unit}`], rows };
  }

  get #shown() {
    return this.#difference ? this.#differences : this.#table;
  }
}
