// The heat map as a table: a row for each worker.

import { HOST } from "../../timeline/labels.js";
import { slotLabel } from "../../timeline/slots.js";
import { NO_GROUPS, groupOf, hostOf } from "./heat_rows.js";

/** @typedef {import("./cells.js").Cells} Cells */
/** @typedef {import("./quantities.js").Quantity} Quantity */

/**
 * @param {Cells} cells
 * @param {Quantity} quantity
 * @param {number[]} order rows of the cells
 * @param {number[]} means of each row, or sums
 * @param {string} grouping
 * @param {{start: number, stop: number, playhead: number}} view
 * @returns {import("../chart_menu/table.js").Table}
 */
export function heatTable({ grid, values }, { label, unit, isSum }, order, means, grouping, view) {
  const tags = grouping === NO_GROUPS || grouping === HOST ? [] : [grouping];
  const figures = [isSum ? "sum" : "mean", "least", "most", "at the playhead"].map(
    (name) => `${name} (${unit.name})`,
  );
  const [first, last] = [
    Math.max(grid.columnAt(view.start), 0),
    Math.min(grid.columnAt(view.stop - 1e-6) + 1, grid.columns),
  ];
  const now = grid.columnAt(view.playhead);
  const rows = order.map((row) => {
    const slot = grid.slots[row];
    const its = values.subarray(row * grid.columns, (row + 1) * grid.columns);
    const known = its.subarray(first, last).filter((value) => !Number.isNaN(value));
    const found = known.length ? [means[row], Math.min(...known), Math.max(...known)] : [NaN, NaN, NaN];
    const cells = [...found, its[now] ?? NaN].map((value) => (Number.isNaN(value) ? null : value));
    return [slotLabel(slot), hostOf(slot), ...tags.map((by) => groupOf(slot, by)), ...cells];
  });
  const note = `${label}: a row sums up the window. Zoom in for shorter times.`;
  return { columns: ["worker", "host", ...tags, ...figures], rows, note };
}
