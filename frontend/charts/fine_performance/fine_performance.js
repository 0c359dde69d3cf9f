// Dask's fine performance metrics of the window as a table: where the time of tasks went, by prefix, activity or Dask span.

import { element } from "../../element.js";
import { formatCount, formatPercent, formatValue } from "../../formatting.js";
import { WindowData } from "../../timeline/window_data.js";
import { DataTable } from "../data_table/data_table.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { prefixCell } from "../data_table/prefix_cell.js";
import { Shown } from "../drawing/shown.js";
import { KINDS, UNITS, rowsOf } from "./rows.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["FinePerformance"]} Found */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./rows.js").KindName} KindName */
/** @typedef {import("./rows.js").Unit} Unit */

/** @type {Chart} */
export const finePerformance = {
  name: "fine-performance",
  title: "Fine performance",
  place: "below",
  layers: [],
  help:
    "Dask's fine performance metrics: what the time of all tasks in the window was spent on, also the bytes and numbers that come with it. " +
    "thread-cpu is computing, thread-noncpu is waiting within a task: for the GIL, for input and output. Click a prefix to select it in all charts.",
  create: (parent, context) => new FinePerformance(parent, context),
};

class FinePerformance {
  #parent;
  #context;
  #holder = element("div", "fine-performance");
  /** @type {WindowData<Found>} */
  #data;
  /** @type {KindName} */
  #kind = "prefixes";
  /** @type {Unit} */
  #unit = "seconds";
  #table;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new WindowData(context.source, "/fine-performance");
    this.#data.addEventListener("change", () => this.#render());
    const kinds = kindChoice("Rows of the table", titlesOf(KINDS), this.#kind, (kind) =>
      this.#choose({ kind }),
    );
    const units = kindChoice("Unit", titlesOf(UNITS), this.#unit, (unit) => this.#choose({ unit }));
    parent.append(element("div", "fine-choices", kinds, units), this.#holder);
    this.#table = this.#makeTable();
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#data.stop();
  }

  /** @param {View} view */
  draw(view) {
    this.#data.update(view);
    if (!this.#shown.changes(this.#context.selection.prefix, this.#context.model.version)) return;
    this.#render();
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    return this.#table.table();
  }

  /** @param {{kind?: KindName, unit?: Unit}} choice */
  #choose({ kind = this.#kind, unit = this.#unit }) {
    [this.#kind, this.#unit] = [kind, unit];
    this.#table = this.#makeTable();
    this.#render();
  }

  #render() {
    const { answer, message } = this.#data;
    this.#table.show(answer ? rowsOf(answer, this.#kind, this.#unit) : [], message || this.#reason(answer));
  }

  /** @param {Found|null} answer */
  #reason(answer) {
    if (!this.#context.info.has_agent)
      return "Stock endpoints don't tell this: install the agent to record it.";
    if (answer && this.#kind === "spans" && !answer.spans)
      return "Too many Dask spans in this window: choose a shorter one.";
    return "";
  }

  /** @returns {DataTable<Row>} */
  #makeTable() {
    const { selection, model } = this.#context;
    const unit = this.#unit;
    this.#holder.replaceChildren();
    /** @type {import("../data_table/data_table.js").Column<Row>[]} */
    const columns = [
      {
        name: "name",
        title: KINDS[this.#kind].heading,
        value: ({ name }) => name,
        cell: ({ name, prefix }) => (prefix === null ? name : prefixCell(name, prefix, model)),
      },
      ...(this.#kind === "activities"
        ? []
        : [{ name: "activity", title: "activity", value: (/** @type {Row} */ { activity }) => activity }]),
      {
        name: "value",
        title: UNITS[unit].heading,
        unit: UNITS[unit].inCsv,
        value: ({ value }) => value,
        text: ({ value }) => (unit === "count" ? formatCount(Math.round(value)) : formatValue(value, unit)),
      },
      {
        name: "share",
        title: "share",
        help: "Of all in this unit",
        value: ({ share }) => share,
        cell: ({ share }) => shareBar(share),
      },
    ];
    return new DataTable(this.#holder, columns, {
      label: "fine performance metrics",
      empty: `No ${UNITS[unit].title} were recorded in this window. Dask samples its metrics every few seconds.`,
      key: ({ key }) => key,
      find: ({ name, activity }) => `${name} ${activity}`,
      sorted: "value",
      ...(this.#kind === "prefixes" && {
        choose: ({ prefix }) =>
          selection.set({
            prefix: prefix === null || selection.prefix === prefix ? null : prefix,
            key: null,
          }),
        isChosen: ({ prefix }) => prefix !== null && selection.prefix === prefix,
      }),
    });
  }
}

/** @param {number} share 0 to 1 */
function shareBar(share) {
  const bar = element("span", "share-bar");
  bar.style.width = `${(100 * share).toFixed(1)}%`;
  return element(
    "span",
    "share",
    element("span", "share-track", bar),
    element("span", "share-text", formatPercent(share)),
  );
}

/**
 * @template {string} Name
 * @param {Readonly<Record<Name, {title: string}>>} options
 */
function titlesOf(options) {
  const titles = Object.entries(options).map(([name, option]) => [
    name,
    /** @type {{title: string}} */ (option).title,
  ]);
  return /** @type {Record<Name, string>} */ (Object.fromEntries(titles));
}
