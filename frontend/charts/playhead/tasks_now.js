// Tasks by state at the playhead.

import { formatCount, formatCountOf } from "../../formatting.js";
import { stateColors } from "../drawing/palette.js";
import { BarList } from "./bar_list.js";
import { sampledNote } from "./sampled_note.js";

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
  help:
    "Tasks that the scheduler knew at the playhead, by state; in a run, without those that had finished before it. Below: why tasks " +
    "can't run (no-worker). Without the agent they are the scheduler's last counts, of all tasks that it knew; if prometheus_client is " +
    "missing there, too, the number of queued tasks is unknown.",
  create: (element, { model }) =>
    new BarList(
      element,
      "bars-tasks",
      barsOf,
      "The scheduler's task counts at this time are unknown.",
      model,
      tableOf,
    ),
};

/**
 * @param {State} state
 * @returns {import("../chart_menu/table.js").Table}
 */
function tableOf({ tasks }) {
  return {
    columns: ["state", "tasks"],
    rows: Object.keys(stateColors).flatMap((name) => (name in tasks ? [[name, tasks[name]]] : [])),
  };
}

/**
 * @param {State} state
 * @returns {Bars}
 */
export function barsOf({ at, tasks, tasks_at, unrunnable }) {
  const names = Object.keys(stateColors).filter((name) => name in tasks);
  const most = Math.max(1, ...names.map((name) => tasks[name]));
  const rows = names.map((name) => {
    const count = formatCount(tasks[name]);
    const mark = name === "erred" ? { erred: true } : { color: stateColors[name] };
    return { name, value: count, parts: [{ share: tasks[name] / most, title: `${count} ${name}`, ...mark }] };
  });
  // counts.json lacks them, and without prometheus_client nothing else has them
  if (names.length && !("queued" in tasks)) rows.push({ name: "queued", value: "unknown", parts: [] });
  const notes = [whyStuck(tasks["no-worker"] ?? 0, unrunnable), sampledNote(at, tasks_at, "Counts")];
  return { rows, note: notes.filter(Boolean).join(" ") };
}

/**
 * @param {number} count tasks that no worker may run
 * @param {State["unrunnable"]} unrunnable
 */
function whyStuck(count, unrunnable) {
  if (!count) return "";
  const reasons = Object.entries(unrunnable).map(
    ([reason, tasks]) => `${reason} (${formatCountOf(tasks, "task")})`,
  );
  const why = reasons.length ? reasons.join(", ") : "what they require is known with the agent only";
  return `${formatCountOf(count, "task")} can't run: ${why}.`;
}
