// The rows of the heat map: workers in groups, the greatest values first or by name.

import { sortedByName } from "../../name_order.js";
import { HOST, hostOfWorker, labelsOf, valueOf } from "../../timeline/labels.js";
import { newest, slotLabel } from "../../timeline/slots.js";

/** @typedef {import("../../timeline/slots.js").Slot} Slot */
/** @typedef {import("./options.js").HeatOrder} HeatOrder */
/** @typedef {import("./cells.js").Cells} Cells */
/**
 * Rows `first` to `first + count` are of one host, or have one value of a tag.
 * @typedef {{label: string, first: number, count: number}} Group
 * @typedef {{order: number[], groups: Group[]}} Arrangement `order` has rows of the cells
 */

export const NO_GROUPS = "none";
const FEWEST = 5; // workers that say what is usual
const FAR = 8; // usual distances from the median
const LEAST = 0.1; // of the greatest value: smaller distances aren't seen
const MOST_NAMED = 5;

/** @param {Slot} slot */
export function hostOf(slot) {
  return hostOfWorker(newest(slot));
}

/**
 * @param {Slot} slot
 * @param {string} by "none", "host" or a tag
 */
export function groupOf(slot, by) {
  return by === NO_GROUPS ? "" : valueOf(newest(slot), by);
}

/**
 * By what the workers can be grouped: what not all of them have in common.
 * @param {Slot[]} slots
 * @returns {string[]}
 */
export function groupings(slots) {
  return [NO_GROUPS, ...labelsOf(slots.map(newest))];
}

/**
 * The wished grouping if there is one; else by host where hosts have several workers.
 * @param {Slot[]} slots
 * @param {string|null} wished
 */
export function chosenGrouping(slots, wished) {
  if (wished !== null && groupings(slots).includes(wished)) return wished;
  const hosts = new Set(slots.map(hostOf)).size;
  return hosts > 1 && slots.length >= 2 * hosts ? HOST : NO_GROUPS;
}

/**
 * A value of each row for [start, stop): the mean, or the sum of what adds up; NaN where nothing is known.
 * @param {Cells} cells
 * @param {boolean} isSum
 * @param {number} start
 * @param {number} stop
 */
export function rowValues({ grid, values }, isSum, start, stop) {
  const [first, last] = [
    Math.max(grid.columnAt(start), 0),
    Math.min(grid.columnAt(stop - 1e-6), grid.columns - 1),
  ];
  return grid.slots.map((_, row) => {
    let [sum, count] = [0, 0];
    for (let column = first; column <= last; column++) {
      const value = values[row * grid.columns + column];
      if (Number.isNaN(value)) continue;
      sum += value;
      count += 1;
    }
    if (!count) return NaN;
    return isSum ? sum : sum / count;
  });
}

/**
 * @param {Slot[]} slots in the order of their names
 * @param {number[]} values of each
 * @param {string} by "none", "host" or a tag
 * @param {HeatOrder} order
 * @returns {Arrangement}
 */
export function arranged(slots, values, by, order) {
  const worth = (/** @type {number} */ row) => (Number.isNaN(values[row]) ? -Infinity : values[row]);
  const byValue = (/** @type {number} */ one, /** @type {number} */ other) =>
    worth(one) === worth(other) ? 0 : worth(other) - worth(one);
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  slots.forEach((slot, row) => {
    const label = groupOf(slot, by);
    const rows = groups.get(label);
    if (rows) rows.push(row);
    else groups.set(label, [row]);
  });
  const means = [...groups].map(([label, rows]) => {
    if (order === "value") rows.sort(byValue);
    const known = rows.map((row) => values[row]).filter((value) => !Number.isNaN(value));
    return {
      label,
      rows,
      mean: known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : -Infinity,
    };
  });
  const byName = sortedByName(means, ({ label }) => label);
  if (order === "value") byName.sort((one, other) => (one.mean === other.mean ? 0 : other.mean - one.mean));
  /** @type {Arrangement} */
  const found = { order: [], groups: [] };
  for (const { label, rows } of byName) {
    found.groups.push({ label, first: found.order.length, count: rows.length });
    found.order.push(...rows);
  }
  return found;
}

/**
 * The greatest value in the window.
 * @param {Cells} cells
 * @param {number[]} order
 * @param {{start: number, stop: number}} view
 */
export function peakOf({ grid, values }, order, view) {
  const [first, last] = [
    Math.max(grid.columnAt(view.start), 0),
    Math.min(grid.columnAt(view.stop - 1e-6), grid.columns - 1),
  ];
  let peak = 0;
  for (const row of order) {
    for (let column = first; column <= last; column++)
      if (values[row * grid.columns + column] > peak) peak = values[row * grid.columns + column];
  }
  return peak;
}

/**
 * The rows whose values are far above the median, the farthest first.
 * @param {number[]} values NaN where nothing is known
 * @returns {number[]}
 */
export function outstanding(values) {
  const known = values.flatMap((value, row) => (Number.isNaN(value) ? [] : [{ value, row }]));
  if (known.length < FEWEST) return [];
  const middle = median(known.map(({ value }) => value));
  const usual = median(known.map(({ value }) => Math.abs(value - middle)));
  const least = LEAST * Math.max(...known.map(({ value }) => value));
  return known
    .filter(({ value }) => value - middle > Math.max(FAR * usual, least))
    .sort((one, other) => other.value - one.value)
    .slice(0, MOST_NAMED)
    .map(({ row }) => row);
}

/** @param {number[]} values */
function median(values) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor(sorted.length / 2)];
}

/** @param {Slot} slot @param {string} by */
export function describeSlot(slot, by) {
  const group = by === NO_GROUPS || by === HOST ? "" : `, ${by} ${groupOf(slot, by)}`;
  return `${slotLabel(slot)} on ${hostOf(slot)}${group}`;
}
