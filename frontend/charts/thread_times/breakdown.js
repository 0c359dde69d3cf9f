// Where the time of all threads went: as one bar, and as a table by what they did, by worker or by prefix.

import { element } from "../../element.js";
import { formatDuration, formatPercent } from "../../formatting.js";
import { Shown } from "../drawing/shown.js";
import { DataTable } from "../data_table/data_table.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { prefixCell } from "../data_table/prefix_cell.js";
import { workerName } from "../worker/name.js";
import { computingPart } from "./computing.js";
import { kindColor, missingText, partText } from "./kinds.js";
import { ROWS, partsOf, rowsOf } from "./rows.js";
import { stackedBar } from "./stacked_bar.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./rows.js").RowsName} RowsName */

/** @type {Chart} */
export const threadTimes = {
  name: "thread-times",
  title: "Where the time of the threads went",
  place: "below",
  layers: [],
  answers: ["/thread-times"],
  help:
    "Each thread of each worker does or waits for exactly one thing at a time, so that the parts add up to the time of all threads. " +
    "Click what they did to go to the moment at which it took most; a worker or prefix to select it in all charts.",
  create: (parent, context) => new Breakdown(parent, context),
};

class Breakdown {
  #parent;
  #context;
  #all = element("div", "time-of-all");
  #holder = element("div", "");
  #computing = element("div", "computing-part");
  #note = element("p", "chart-note muted");
  /** @type {RowsName} */
  #rows = "kinds";
  #table;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    const titles = { kinds: ROWS.kinds.title, workers: ROWS.workers.title, prefixes: ROWS.prefixes.title };
    const choice = kindChoice("Rows of the table", titles, this.#rows, (name) => this.#choose(name));
    parent.append(this.#all, choice, this.#holder, this.#computing, this.#note);
    this.#table = this.#makeTable();
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { answers, selection, model } = this.#context;
    const threadTimes = answers["/thread-times"];
    threadTimes.update(view);
    if (
      !this.#shown.changes(
        threadTimes.answer,
        threadTimes.message,
        selection.worker,
        selection.prefix,
        model.version,
      )
    )
      return;
    this.#render();
  }

  #render() {
    const { answer } = this.#context.answers["/thread-times"];
    const missing = missingText(this.#context);
    this.#all.replaceChildren(...(answer && !missing ? [stackedBar(partsOf(answer))] : []));
    this.#table.show(
      answer && !missing ? rowsOf(answer, this.#rows, (worker) => workerName(this.#context, worker)) : [],
      missing,
    );
    this.#computing.replaceChildren(
      ...(answer && !missing ? computingPart(answer, this.#context.model) : []),
    );
    this.#note.textContent = [partText(this.#context), this.#leftOut()].filter(Boolean).join(" ");
    this.#note.hidden = !this.#note.textContent;
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    return this.#table.table();
  }

  #leftOut() {
    const { answer } = this.#context.answers["/thread-times"];
    const count =
      this.#rows === "workers"
        ? answer?.other_workers
        : this.#rows === "prefixes"
          ? answer?.other_prefixes
          : 0;
    return count
      ? `${count} more ${ROWS[this.#rows].title} are left out: those that were idle or took least.`
      : "";
  }

  /** @param {RowsName} name */
  #choose(name) {
    this.#rows = name;
    this.#table = this.#makeTable();
    this.#render();
  }

  /** @param {Row} row */
  #go({ kind, worker, prefix }) {
    const { selection, timeline, answers } = this.#context;
    if (worker !== null) return selection.set({ worker: selection.worker === worker ? null : worker });
    if (prefix !== null)
      return selection.set({ prefix: selection.prefix === prefix ? null : prefix, key: null });
    const { answer } = answers["/thread-times"];
    if (!answer) return;
    const { start, width, seconds } = answer.over_time;
    const bins = seconds[answer.kinds.findIndex((one) => one.kind === kind)];
    timeline.jump(start + (bins.indexOf(Math.max(...bins)) + 0.5) * width);
  }

  /** @returns {DataTable<Row>} */
  #makeTable() {
    const { selection, model } = this.#context;
    this.#holder.replaceChildren();
    const isOfKinds = this.#rows === "kinds";
    /** @type {import("../data_table/data_table.js").Column<Row>[]} */
    const columns = [
      {
        name: "name",
        title: ROWS[this.#rows].heading,
        value: ({ name }) => name,
        cell: (row) => this.#nameCell(row),
      },
      {
        name: "seconds",
        title: "time of threads",
        unit: "s",
        value: ({ seconds }) => seconds,
        text: ({ seconds }) => formatDuration(seconds),
      },
      {
        name: "share",
        title: "share",
        help: "Of the time of all threads",
        value: ({ share }) => share,
        text: ({ share }) => formatPercent(share),
      },
    ];
    if (isOfKinds)
      columns.push({
        name: "meaning",
        title: "meaning",
        value: ({ help }) => help,
        cell: ({ help }) => element("span", "time-meaning", help),
      });
    else
      columns.push({
        name: "parts",
        title: "parts",
        value: partsText,
        cell: ({ parts }) => stackedBar(parts),
      });
    if (this.#rows === "prefixes") {
      columns.push({
        name: "blamed",
        title: "others waited",
        help: "Time of idle threads until its tasks had finished. Tasks that ran at the same time share it",
        unit: "s",
        value: ({ blamed }) => blamed,
        text: ({ blamed }) => formatDuration(blamed ?? 0),
      });
    }
    return new DataTable(this.#holder, columns, {
      label: `time of threads by ${ROWS[this.#rows].title}`,
      empty: "No thread did anything in this window.",
      key: ({ key }) => key,
      find: ({ name, help }) => `${name} ${help}`,
      sorted: "seconds",
      hint: ({ help, name }) => help || name,
      choose: (row) => this.#go(row),
      isChosen: ({ worker, prefix }) =>
        (worker !== null && model.slotOf(worker)?.key === model.slotOf(selection.worker)?.key) ||
        (prefix !== null && prefix === selection.prefix),
    });
  }

  /** @param {Row} row */
  #nameCell({ name, kind, prefix }) {
    if (prefix !== null) return prefixCell(name, prefix, this.#context.model);
    if (kind === null) return name;
    const swatch = element("i", "swatch");
    swatch.style.backgroundColor = kindColor(kind);
    return element("span", "", swatch, name);
  }
}

/** @param {Row} row; for the CSV */
function partsText({ parts }) {
  return parts.map(({ title, seconds }) => `${title} ${seconds.toFixed(3)} s`).join("; ");
}
