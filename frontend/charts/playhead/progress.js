// Progress at the playhead: how many tasks of each prefix were done.

import { formatCount } from "../../formatting.js";
import { BarList } from "./bar_list.js";
import { sampledNote } from "./sampled_note.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").State} State */
/** @typedef {import("./bar_list.js").Bars} Bars */
/** @typedef {State["progress"][number]} Row */

const OTHERS = "#888888";
const NO_TOTALS =
  "How many tasks there are is unknown (?): it needs prometheus_client on the scheduler, or the agent.";
const [MOST, MOST_FOUND] = [14, 50];

/** @type {Chart} */
export const progress = {
  name: "progress",
  title: "Progress",
  quantity: "tasks-erred",
  place: "side",
  showsState: true,
  layers: [],
  help:
    "Tasks done at the playhead, out of those that the scheduler knew, by prefix. Erred tasks are striped, including those that erred " +
    "because a dependency did. Attempts that failed and were retried don't count; a task that is computed again counts again. " +
    "On a run's page, prefixes of which only other clients or other runs submitted tasks are one row; the search finds them. " +
    "With the agent, all numbers are of the playhead's time. Without it, erred tasks and totals are from the scheduler's last metrics.",
  create: (element, { model }) =>
    new BarList(
      element,
      "bars-progress",
      (state, query) => barsOf(state, query, model),
      "No task had run yet.",
      model,
      tableOf,
    ),
};

/**
 * The prefixes with most tasks, and the others as one row; or those whose names have what is searched for.
 * @param {State} state
 * @param {string} query in lower case
 * @param {Pick<import("../../timeline/model.js").Model, "colors"|"prefixes">} model
 * @returns {Bars}
 */
export function barsOf(state, query, { colors, prefixes }) {
  const isOfOtherRuns = (/** @type {Row} */ { prefix }) => prefixes.get(prefix)?.is_other ?? false;
  const sorted = [...state.progress].sort((one, other) => weight(other) - weight(one));
  const all = query ? sorted : sorted.filter((row) => !isOfOtherRuns(row));
  const ofOtherRuns = query ? [] : sorted.filter(isOfOtherRuns);
  const unlisted = state.other_progress ?? null;
  const isCut = all.length > MOST || unlisted !== null || ofOtherRuns.length > 0;
  const found = query ? all.filter(({ name }) => name.toLowerCase().includes(query)) : all;
  const most = query ? MOST_FOUND : isCut ? MOST - 1 : MOST;
  const [first, left] = [found.slice(0, most), found.slice(most)];
  const others = query || !(left.length || unlisted) ? [] : [together("others", left, unlisted)];
  if (ofOtherRuns.length) others.push(together("tasks of other runs", ofOtherRuns, null));
  const rows = [...first, ...others].map((row) => {
    const weighed = Math.max(1, weight(row));
    const erred = row.erred ?? 0;
    const left = Math.max(0, weight(row) - row.done - erred);
    const part = (/** @type {number} */ count, /** @type {string} */ word) => ({
      share: count / weighed,
      title: `${row.name}: ${formatCount(count)} ${word}`,
    });
    const color = row.color === OTHERS ? OTHERS : (colors.of(row.name) ?? row.color);
    const parts = [
      { ...part(row.done, "done"), color },
      { ...part(erred, "erred"), erred: true },
      { ...part(left, leftWords(row)), color, faint: true },
    ];
    return { name: row.name, value: describe(row), parts };
  });
  const more = query && left.length ? `and ${formatCount(left.length)} more` : "";
  const unsearched =
    query && unlisted ? `${formatCount(unlisted.prefixes)} prefixes with fewer tasks are not searched` : "";
  const untold =
    [more, unsearched].filter(Boolean).join(" · ") ||
    (found.some(({ total }) => total === null) ? NO_TOTALS : "");
  return {
    rows,
    isCut,
    note: [untold, sampledNote(state.at, state.progress_at, "Erred tasks and totals")]
      .filter(Boolean)
      .join(" · "),
  };
}

/** @param {Row} row */
function leftWords({ states }) {
  const parts = Object.entries(states ?? {}).filter(([, count]) => count);
  return parts.length
    ? `to do: ${parts.map(([state, count]) => `${formatCount(count)} ${state}`).join(", ")}`
    : "to do";
}

/**
 * @param {string} name
 * @param {Row[]} rows
 * @param {State["other_progress"]} unlisted
 * @returns {Row} one for all
 */
function together(name, rows, unlisted) {
  const parts = unlisted ? [...rows, unlisted] : rows;
  const sum = (/** @type {(part: typeof parts[number]) => number} */ of) =>
    parts.reduce((total, part) => total + of(part), 0);
  const hasTotals = parts.every(({ total }) => total !== null);
  return {
    prefix: 0,
    seconds: sum(({ seconds }) => seconds),
    states: null,
    name: `${name} (${formatCount(rows.length + (unlisted?.prefixes ?? 0))})`,
    color: OTHERS,
    done: sum(({ done }) => done),
    erred: sum(({ erred }) => erred ?? 0),
    total: hasTotals ? sum(weight) : null,
  };
}

/**
 * @param {State} state
 * @returns {import("../chart_menu/table.js").Table}
 */
function tableOf({ progress, other_progress: unlisted }) {
  const listed = [...progress].sort((one, other) => weight(other) - weight(one));
  const all = unlisted ? [...listed, together("others", [], unlisted)] : listed;
  return {
    columns: ["prefix", "done", "erred", "total"],
    rows: all.map((row) => [row.name, row.done, row.erred ?? null, row.total ?? null]),
  };
}

/** @param {Pick<State["progress"][number], "done"|"erred"|"total">} row */
function weight(row) {
  return Math.max(row.total ?? 0, row.done + (row.erred ?? 0));
}

/** @param {Row} row */
function describe(row) {
  const erred = row.erred ? ` · ${formatCount(row.erred)} erred` : "";
  const of = row.total === null ? " / ?" : ` / ${formatCount(weight(row))}`;
  return `${formatCount(row.done)}${of}${erred}`;
}
