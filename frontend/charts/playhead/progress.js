// Progress at the playhead: how many tasks of each prefix were done.

import { formatCount } from "../../formatting.js";
import { BarList } from "./bar_list.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").State} State */
/** @typedef {import("./bar_list.js").Bars} Bars */

const MOST = 14;

/** @type {Chart} */
export const progress = {
  name: "progress",
  title: "Progress",
  quantity: "tasks-erred",
  place: "side",
  showsState: true,
  layers: [],
  help:
    "Tasks done at the playhead, out of those that the scheduler knew, by prefix. Erred tasks are striped. Done tasks are " +
    "counted in the task stream, and where that has gaps, by dask_scheduler_prefix_state_totals_total, which also has the totals.",
  create: (element, { model }) =>
    new BarList(element, "bars-progress", (state) => barsOf(state, model.colors), "No task had run yet.", model, tableOf),
};

/**
 * @param {State} state
 * @param {import("../../timeline/colors/prefix_colors.js").PrefixColors} colors
 * @returns {Bars}
 */
function barsOf(state, colors) {
  const all = [...state.progress].sort((one, other) => weight(other) - weight(one));
  const rows = all.slice(0, MOST).map((row) => {
    const weighed = Math.max(1, weight(row));
    const erred = row.erred ?? 0;
    const left = Math.max(0, weight(row) - row.done - erred);
    const part = (/** @type {number} */ count, /** @type {string} */ word) => ({
      share: count / weighed,
      title: `${row.name}: ${formatCount(count)} ${word}`,
    });
    const color = colors.of(row.name) ?? row.color;
    const parts = [
      { ...part(row.done, "done"), color },
      { ...part(erred, "erred"), erred: true },
      { ...part(left, "to do"), color, faint: true },
    ];
    return { name: row.name, value: describe(row), parts };
  });
  return { rows, note: all.length > MOST ? `and ${all.length - MOST} more prefixes` : "" };
}

/**
 * @param {State} state
 * @returns {import("../chart_menu/table.js").Table}
 */
function tableOf({ progress }) {
  const all = [...progress].sort((one, other) => weight(other) - weight(one));
  return {
    columns: ["prefix", "done", "erred", "total"],
    rows: all.map((row) => [row.name, row.done, row.erred ?? null, row.total ?? null]),
  };
}

/** @param {State["progress"][number]} row */
function weight(row) {
  return Math.max(row.total ?? 0, row.done + (row.erred ?? 0));
}

/** @param {State["progress"][number]} row */
function describe(row) {
  const erred = row.erred ? ` · ${formatCount(row.erred)} erred` : "";
  const of = row.total === null ? "" : ` / ${formatCount(weight(row))}`;
  return `${formatCount(row.done)}${of}${erred}`;
}
