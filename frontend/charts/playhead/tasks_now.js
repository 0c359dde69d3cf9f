// Tasks by state at the playhead.

import { formatCount } from "../../formatting.js";
import { stateColors } from "../drawing/palette.js";
import { BarList } from "./bar_list.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").State} State */
/** @typedef {import("./bar_list.js").Bars} Bars */

/** @type {Chart} */
export const tasksNow = {
  name: "tasks-now",
  title: "Tasks by state",
  place: "side",
  showsState: true,
  layers: [],
  help: "Tasks that the scheduler knew at the playhead, by state.",
  create: (element, { model }) =>
    new BarList(element, "bars-tasks", barsOf, "The scheduler's task counts at this time are unknown.", model, tableOf),
};

/**
 * @param {State} state
 * @returns {import("../chart_menu/table.js").Table}
 */
function tableOf({ tasks }) {
  return { columns: ["state", "tasks"], rows: Object.keys(stateColors).flatMap((name) => (name in tasks ? [[name, tasks[name]]] : [])) };
}

/**
 * @param {State} state
 * @returns {Bars}
 */
function barsOf({ tasks }) {
  const names = Object.keys(stateColors).filter((name) => name in tasks);
  const most = Math.max(1, ...names.map((name) => tasks[name]));
  const rows = names.map((name) => {
    const count = formatCount(tasks[name]);
    const mark = name === "erred" ? { erred: true } : { color: stateColors[name] };
    return { name, value: count, parts: [{ share: tasks[name] / most, title: `${count} ${name}`, ...mark }] };
  });
  return { rows };
}
