// The tasks that idle threads waited for longest, as a table. A click goes to the task.

import { formatDuration } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { Shown } from "../drawing/shown.js";
import { goToTask } from "../side_list/items.js";
import { workerName } from "../worker/name.js";
import { missingText } from "./kinds.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["WaitedFor"]} Task */

/** @type {Chart} */
export const waitedFor = {
  name: "waited-for",
  title: "Tasks that others waited for",
  place: "below",
  layers: [],
  answers: ["/thread-times"],
  help:
    "The tasks that ran while threads were idle, because what was left depended on other tasks. Those that ran at the same time share " +
    "the idle time equally. Click one to go to it.",
  create: (parent, context) => new WaitedForTable(parent, context),
};

class WaitedForTable {
  #parent;
  #context;
  /** @type {DataTable<Task>} */
  #table;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    const took = (/** @type {Task} */ { start, stop }) => microseconds(stop - start);
    /** @type {import("../data_table/data_table.js").Column<Task>[]} */
    const columns = [
      { name: "key", title: "task", value: ({ key }) => key },
      {
        name: "seconds",
        title: "others waited",
        unit: "s",
        value: ({ seconds }) => microseconds(seconds),
        text: ({ seconds }) => formatDuration(seconds),
      },
      { name: "took", title: "took", unit: "s", value: took, text: (task) => formatDuration(took(task)) },
      { name: "worker", title: "worker", value: ({ worker }) => workerName(context, worker) },
      {
        name: "start",
        title: "began",
        value: ({ start }) => isoTime(start),
        text: ({ start }) => formatTime(start, 3),
      },
    ];
    this.#table = new DataTable(parent, columns, {
      label: "tasks that others waited for",
      empty: "No thread waited for other tasks in this window.",
      key: ({ lane, start }) => `${lane} ${start}`,
      find: ({ key, worker }) => `${key} ${workerName(context, worker)}`,
      sorted: "seconds",
      choose: (task) => goToTask(context, task, task.start),
      isChosen: ({ key }) => key === context.selection.key,
    });
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { answers, selection, model } = this.#context;
    const threadTimes = answers["/thread-times"];
    threadTimes.update(view);
    if (!this.#shown.changes(threadTimes.answer, threadTimes.message, selection.key, model.version)) return;
    this.#table.show(threadTimes.answer?.waited_for ?? [], missingText(this.#context));
  }

  table() {
    return this.#table.table();
  }
}
