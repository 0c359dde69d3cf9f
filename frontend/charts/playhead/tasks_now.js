// Tasks by state at the playhead.

import { formatCount } from "../../formatting.js";
import { stateColors } from "../drawing/palette.js";
import { PlotlyChart } from "../drawing/plotly_chart.js";
import { theme } from "../drawing/theme.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").State} State */

const ROW = 20; // px

/** @type {Chart} */
export const tasksNow = {
  name: "tasks-now",
  title: "Tasks by state",
  place: "side",
  layers: [],
  help: "Tasks that the scheduler knew at the playhead, by state.",
  create: (element) => new PlotlyChart(element, figure, "The scheduler's counts aren't known for this instant."),
};

/** @param {State} state */
function figure(state) {
  const names = Object.keys(stateColors).filter((name) => name in state.tasks);
  const counts = names.map((name) => state.tasks[name]);
  const colors = theme();
  return {
    traces: [
      {
        type: "bar",
        orientation: "h",
        y: names,
        x: counts,
        text: counts.map((count) => formatCount(count)),
        textposition: "outside",
        cliponaxis: false,
        marker: { color: names.map((name) => (name === "erred" ? colors.text : stateColors[name])) },
        hovertemplate: "%{x:,} %{y}<extra></extra>",
      },
    ],
    height: names.length * ROW + 8,
    layout: {
      margin: { l: 74, r: 44, t: 2, b: 4 },
      bargap: 0.35,
      xaxis: { visible: false, rangemode: "tozero", fixedrange: true, range: [0, Math.max(1, ...counts)] },
      yaxis: { autorange: "reversed", fixedrange: true, ticklen: 0 },
    },
    rows: /** @type {[string, string][]} */ (names.map((name, at) => [name, formatCount(counts[at])])),
  };
}
