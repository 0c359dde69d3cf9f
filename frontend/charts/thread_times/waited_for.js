// The tasks that idle threads waited for longest, as a table. A click goes to the task.

import { formatDuration } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { tableChart } from "../data_table/table_chart.js";
import { goToTask } from "../side_list/items.js";
import { workerName } from "../worker/name.js";
import { missingText } from "./kinds.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["WaitedFor"]} Task */

export const waitedFor = tableChart({
  name: "waited-for",
  title: "Tasks that others waited for",
  answers: ["/thread-times"],
  help:
    "The tasks that ran while threads were idle, because what was left depended on other tasks. Those that ran at the same time share " +
    "the idle time equally. Click one to go to it.",
  columns,
  options: (context) => ({
    label: "tasks that others waited for",
    empty: "No thread waited for other tasks in this window.",
    key: ({ lane, start }) => `${lane} ${start}`,
    find: ({ key, worker }) => `${key} ${workerName(context, worker)}`,
    sorted: "seconds",
    choose: (task) => goToTask(context, task, task.start),
    isChosen: ({ key }) => key === context.selection.key,
  }),
  basis: ({ answers, selection, model }, view) => {
    const threadTimes = answers["/thread-times"];
    threadTimes.update(view);
    return [threadTimes.answer, threadTimes.message, selection.key, model.version];
  },
  rows: ({ answers }) => answers["/thread-times"].answer?.waited_for ?? [],
  message: missingText,
});

/**
 * @param {Context} context
 * @returns {import("../data_table/data_table.js").Column<Task>[]}
 */
function columns(context) {
  const took = (/** @type {Task} */ { start, stop }) => microseconds(stop - start);
  return [
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
}
