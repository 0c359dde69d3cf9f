// The task stream as a table: its spans, and where it is zoomed out the sums of its bins.

import { ACTIONS, STATUSES } from "../../contract.js";
import { formatCount } from "../../formatting.js";
import { valueOf } from "../../timeline/labels.js";
import { workerLabel } from "../../timeline/slots.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { nameOfPrefix } from "./lanes/worker_sums.js";
import { visitBusy, visitSpans } from "./lanes/index.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../timeline/model.js").Model} Model */
/** @typedef {import("../chart_menu/table.js").Table} Table */
/** @typedef {import("../chart_menu/table.js").Cell} Cell */

const MOST = 100_000; // rows
const COLUMNS = [
  "begin (UTC)",
  "worker",
  "thread",
  "prefix",
  "key",
  "action",
  "seconds",
  "tasks",
  "size (bytes)",
  "type",
  "status",
];
const SUMMED =
  "Rows without a key sum up the tasks of one prefix in a bin: zoom in for single tasks, or export the run.";

/**
 * @param {Tile[]} tiles
 * @param {Model} model
 * @param {number[]} lanes those in sight
 * @param {{start: number, stop: number}} view
 * @param {string|null} label of the workers that has a column
 * @returns {Table} in order of time
 */
export function streamTable(tiles, model, lanes, view, label = null) {
  /** @type {{start: number, cells: Cell[]}[]} */
  const rows = [];
  let hasSums = false;
  for (const lane of lanes) {
    const where = place(model, lane, label);
    for (const tile of tiles) {
      visitSpans(tile, model, lane, view.start, view.stop, (block, row) => {
        const start = block.numbers("start")[row];
        if (Math.max(start, view.start) < tile.start) return; // the tile before has it
        const duration = microseconds(block.numbers("stop")[row] - start);
        const texts = [
          block.numbers("nbytes")[row],
          block.texts("typename").at(row),
          STATUSES[block.numbers("status")[row]] ?? "",
        ];
        rows.push({
          start,
          cells: [...where, ...kind(model, block, row, block.texts("key").at(row)), duration, 1, ...texts],
        });
      });
      visitBusy(tile, model, lane, view.start, view.stop, (block, row, _, from, __, seconds) => {
        hasSums = true;
        rows.push({
          start: from,
          cells: [
            ...where,
            ...kind(model, block, row, ""),
            microseconds(seconds),
            block.numbers("count")[row],
            null,
            "",
            "",
          ],
        });
      });
      if (rows.length > MOST) break;
    }
  }
  rows.sort((one, other) => one.start - other.start);
  const left =
    rows.length > MOST ? `Only ${formatCount(MOST)} rows are included: zoom in, or export the run.` : "";
  const note = [left, hasSums ? SUMMED : ""].filter(Boolean).join(" ");
  const columns = label === null ? COLUMNS : [...COLUMNS.slice(0, 2), label, ...COLUMNS.slice(2)];
  return { columns, rows: rows.slice(0, MOST).map(({ start, cells }) => [isoTime(start), ...cells]), note };
}

/**
 * @param {Model} model
 * @param {number} lane
 * @param {string|null} label
 * @returns {Cell[]} worker, its label, and thread
 */
function place(model, lane, label) {
  const worker = model.workerOf(lane);
  const value = label === null ? [] : [worker ? valueOf(worker, label) : ""];
  return [worker ? workerLabel(worker) : "", ...value, model.lanes.get(lane)?.position ?? 0];
}

/**
 * @param {Model} model
 * @param {import("../../types.js").Block} block
 * @param {number} row
 * @param {string} key
 * @returns {Cell[]} prefix, key and action
 */
function kind(model, block, row, key) {
  return [
    nameOfPrefix(block.numbers("prefix")[row], model),
    key,
    ACTIONS[block.numbers("action")[row]] ?? "",
  ];
}
