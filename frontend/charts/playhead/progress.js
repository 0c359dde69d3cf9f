// Progress at the playhead: of each prefix, how many of its tasks were done.

import { formatCount } from "../../formatting.js";
import { PlotlyChart } from "../drawing/plotly_chart.js";
import { plain } from "../drawing/plotly.js";
import { theme } from "../drawing/theme.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").State} State */

const MOST = 14;
const ROW = 28; // px
const MARGIN = 6; // px below the last bar
const BAR = 0.77; // of a row: where the middle of its bar is, below its name

/** @type {Chart} */
export const progress = {
  name: "progress",
  title: "Progress",
  place: "side",
  layers: [],
  help:
    "Tasks done by the playhead, of those that the scheduler knew, by prefix; erred ones black. Done tasks are counted " +
    "from the task stream, totals come from dask_scheduler_prefix_state_totals_total.",
  create: (element) => new PlotlyChart(element, figure, "No task had run by then."),
};

/** @param {State} state */
function figure(state) {
  const all = [...state.progress].sort((one, other) => weight(other) - weight(one));
  const shown = all.slice(0, MOST);
  const names = shown.map((row) => row.name);
  const share = (/** @type {number} */ count, /** @type {number} */ at) => count / Math.max(1, weight(shown[at]));
  const bar = (/** @type {string} */ name, /** @type {number[]} */ counts, /** @type {string|string[]} */ color, opacity = 1) => ({
    type: "bar",
    orientation: "h",
    name,
    y: names.map((_, at) => at),
    x: counts.map(share),
    marker: { color, line: { width: 0 } },
    opacity,
    customdata: counts,
    hovertemplate: shown.map((row) => `${plain(row.name)}<br>%{customdata:,} ${name}<extra></extra>`),
  });
  const colors = theme();
  const erred = shown.map((row) => row.erred ?? 0);
  const left = shown.map((row, at) => Math.max(0, weight(row) - row.done - erred[at]));
  return {
    traces: [
      bar("done", shown.map((row) => row.done), shown.map((row) => row.color)),
      bar("erred", erred, colors.text),
      bar("to do", left, shown.map((row) => row.color), 0.18),
    ],
    height: shown.length * ROW + MARGIN,
    labelHeight: ROW, // as many texts of Plotly's own would take longer than all else
    layout: {
      barmode: "stack",
      bargap: 0.62,
      showlegend: false,
      margin: { l: 2, r: 2, t: 0, b: MARGIN },
      xaxis: { visible: false, range: [0, 1], fixedrange: true },
      yaxis: { visible: false, range: [shown.length - BAR, -BAR], fixedrange: true },
    },
    rows: /** @type {[string, string][]} */ (shown.map((row) => [row.name, words(row)])),
    note: all.length > MOST ? `and ${all.length - MOST} more prefixes` : "",
  };
}

/** @param {State["progress"][number]} row */
function weight(row) {
  return Math.max(row.total ?? 0, row.done + (row.erred ?? 0));
}

/** @param {State["progress"][number]} row */
function words(row) {
  const erred = row.erred ? ` · ${formatCount(row.erred)} erred` : "";
  const of = row.total === null ? "" : ` / ${formatCount(weight(row))}`;
  return `${formatCount(row.done)}${of}${erred}`;
}
