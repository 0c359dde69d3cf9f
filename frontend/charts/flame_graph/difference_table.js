// The functions of two profiles as a table, those that differ most first.

import { element } from "../../element.js";
import { formatDifference, formatPercent } from "../../formatting.js";
import { DataTable } from "../data_table/data_table.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { differenceMark } from "./difference_colors.js";
import { secondsOf, shortFile } from "./text.js";

/** @typedef {import("../../timeline/tiles/stacks.js").Code} Code */
/** @typedef {import("./difference.js").FunctionShares} FunctionShares */
/** @typedef {import("./tree.js").Wanted} Wanted */
/** @typedef {import("../data_table/data_table.js").Column<FunctionShares>} Column */
/** @typedef {"own"|"total"} Which */

const STEP = 25; // rows
/** @type {Record<Which, string>} */
const TITLES = { own: "itself", total: "with its callees" };

/** Fires "choose" when a function is chosen, or no longer. */
export class DifferenceTable extends EventTarget {
  element = element("div", "flame-differences");
  /** @type {Code|null} */
  chosen = null;
  #caption = element("p", "flame-heading");
  #holder = element("div", "");
  /** @type {Which} */
  #which = "own";
  #table = this.#make();
  /** @type {FunctionShares[]} */
  #rows = [];
  /** @type {{total: number, source: Wanted["source"]}} of the drawn profile */
  #drawn = { total: 0, source: "tasks" };

  constructor() {
    super();
    const choice = kindChoice("Shares of each function", TITLES, this.#which, (which) => {
      this.#which = which;
      this.#table = this.#make();
      this.#fill();
    });
    this.element.append(this.#caption, choice, this.#holder);
  }

  /**
   * @param {FunctionShares[]} rows
   * @param {{total: number, source: Wanted["source"]}} drawn samples of the drawn profile
   * @param {string} caption
   */
  show(rows, drawn, caption) {
    [this.#rows, this.#drawn] = [rows, drawn];
    this.#caption.textContent = caption;
    this.#fill();
  }

  /** @param {Code|null} of */
  choose(of) {
    if (of?.id === this.chosen?.id) return;
    this.chosen = of;
    this.#fill();
    this.dispatchEvent(new Event("choose"));
  }

  table() {
    const points = (/** @type {number} */ share) => Math.round(share * 1e6) / 1e4;
    const rows = this.#ordered().map(({ of, own, total }) => {
      const shares = [own, total].flatMap(({ here, there, difference }) => [
        points(here),
        points(there),
        points(difference),
      ]);
      return [of.name, of.file, ...shares, secondsOf(own.difference, this.#drawn)];
    });
    const names = ["own", "all"].flatMap((of) => [
      `${of}, drawn (%)`,
      `${of}, other (%)`,
      `${of}, difference (percentage points)`,
    ]);
    return { columns: ["function", "file", ...names, "own, difference (s of the drawn window)"], rows };
  }

  #fill() {
    this.#table.show(this.#ordered());
  }

  /** The largest differences first. */
  #ordered() {
    const size = (/** @type {FunctionShares} */ row) => Math.abs(row[this.#which].difference);
    return [...this.#rows].sort((one, other) => size(other) - size(one) || one.of.id - other.of.id);
  }

  #make() {
    this.#holder.replaceChildren();
    const of = (/** @type {FunctionShares} */ row) => row[this.#which];
    /** @type {Column[]} */
    const columns = [
      { name: "function", title: "function", value: (row) => row.of.name || "(no name)" },
      { name: "file", title: "file", value: (row) => shortFile(row.of.file) },
      {
        name: "here",
        title: "drawn",
        help: "Share of the samples of the drawn profile",
        value: (row) => of(row).here,
        text: (row) => formatPercent(of(row).here),
      },
      {
        name: "there",
        title: "other",
        help: "Share of the samples of the other profile",
        value: (row) => of(row).there,
        text: (row) => formatPercent(of(row).there),
      },
      {
        name: "difference",
        title: "difference",
        help: "In percentage points of the samples",
        value: (row) => of(row).difference,
        text: (row) =>
          `${differenceMark(of(row).difference)}${formatDifference(of(row).difference, "share").replace("percentage points", "pp")}`,
      },
      {
        name: "seconds",
        title: "≈ time",
        help: "The difference as time of the drawn window, at Dask's usual 10 ms a sample",
        value: (row) => secondsOf(of(row).difference, this.#drawn),
        text: (row) => formatDifference(secondsOf(of(row).difference, this.#drawn), "seconds"),
      },
    ];
    return new DataTable(this.#holder, columns, {
      label: "functions, the largest differences first",
      empty: "No functions.",
      key: ({ of: { id } }) => id,
      find: ({ of: { name, file } }) => `${name} ${file}`,
      step: STEP,
      hint: ({ of: { name, file } }) => `${name} in ${file}`,
      choose: (row) => this.choose(row.of.id === this.chosen?.id ? null : row.of),
      isChosen: (row) => row.of.id === this.chosen?.id,
    });
  }
}
