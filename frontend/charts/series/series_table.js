// The lines of a chart as a table.

import { isoTime } from "../chart_menu/table.js";

/** @typedef {import("./series_points.js").Points} Points */
/** @typedef {import("./value_axis.js").Unit} Unit */
/** @typedef {import("../chart_menu/table.js").Table} Table */

const NOTE = "A row sums up a pixel or two of the chart: zoom in for single samples.";

/**
 * @param {{label: string, points: Points}[]} lines
 * @param {{start: number, stop: number}} view
 * @param {Unit} unit
 * @returns {Table} in order of time
 */
export function seriesTable(lines, view, unit) {
  const rows = lines.flatMap(({ label, points }) =>
    points.time.flatMap((time, place) => {
      const values = [points.mean[place], points.min[place], points.max[place]];
      return time >= view.start && time < view.stop ? [{ time, cells: [label, ...values] }] : [];
    }),
  );
  rows.sort((one, other) => one.time - other.time);
  return {
    columns: ["time (UTC)", "series", ...["mean", "least", "most"].map((name) => `${name} (${unit.name})`)],
    rows: rows.map(({ time, cells }) => [isoTime(time), ...cells]),
    note: NOTE,
  };
}
