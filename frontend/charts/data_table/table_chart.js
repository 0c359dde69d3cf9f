// A chart that is one table, made anew when what its rows are made of is another.

import { DataTable } from "./data_table.js";
import { Shown } from "../drawing/shown.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */

/**
 * `basis` requests what the chart shows, with each drawing, and returns all that its rows are made of. `message`: why there
 * are no rows, instead of the usual text; empty: no other reason. `note` of the table, for those who read it or take its CSV.
 * @template Row
 * @typedef {{name: string, title: string, help: string, answers?: Chart["answers"],
 *   columns: (context: Context) => import("./data_table.js").Column<Row>[],
 *   options: (context: Context) => import("./data_table.js").Options<Row>,
 *   basis: (context: Context, view: View) => unknown[],
 *   rows: (context: Context, view: View) => Row[],
 *   message: (context: Context) => string,
 *   note?: (context: Context) => string}} Definition
 */

/**
 * @template Row
 * @param {Definition<Row>} definition
 * @returns {Chart}
 */
export function tableChart(definition) {
  const { name, title, help, answers } = definition;
  return {
    name,
    title,
    place: "below",
    layers: [],
    answers,
    help,
    create: (parent, context) => new TableChart(parent, context, definition),
  };
}

/** @template Row */
class TableChart {
  #parent;
  #context;
  #definition;
  #table;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   * @param {Definition<Row>} definition
   */
  constructor(parent, context, definition) {
    this.#parent = parent;
    this.#context = context;
    this.#definition = definition;
    this.#table = new DataTable(parent, definition.columns(context), definition.options(context));
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { basis, rows, message } = this.#definition;
    if (!this.#shown.changes(...basis(this.#context, view))) return;
    this.#table.show(rows(this.#context, view), message(this.#context));
  }

  table() {
    const { note } = this.#definition;
    const table = this.#table.table();
    return note ? { ...table, note: note(this.#context) } : table;
  }
}
