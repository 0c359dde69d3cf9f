// Where the task stream's lanes lie: grouped by worker, a row for each thread, also for one that did nothing yet.

/** @typedef {import("../timeline/model.js").Model} Model */
/** @typedef {import("../types.js").Worker} Worker */

/**
 * `first` and `count` are rows.
 * @typedef {{worker: Worker, first: number, count: number}} WorkerRows
 * @typedef {{workers: WorkerRows[], lanes: (number|null)[]}} Layout
 */

const LOWEST_ROW = 6; // px
const HIGHEST_ROW = 22;

/**
 * The rows of the workers that lived in [start, stop).
 * @param {Model} model
 * @param {number} start
 * @param {number} stop
 * @returns {Layout} `lanes` are ids by row; null for a thread that has done nothing
 */
export function layoutLanes(model, start, stop) {
  /** @type {Layout} */
  const layout = { workers: [], lanes: [] };
  for (const worker of model.workersBetween(start, stop)) {
    const lanes = model.lanesOf(worker.id);
    const count = Math.max(worker.nthreads, lanes.length, 1);
    layout.workers.push({ worker, first: layout.lanes.length, count });
    for (let position = 0; position < count; position++) layout.lanes.push(lanes[position]?.id ?? null);
  }
  return layout;
}

/**
 * @param {number} rows
 * @param {number} room px
 */
export function rowHeight(rows, room) {
  return Math.min(Math.max(Math.floor(room / Math.max(rows, 1)), LOWEST_ROW), HIGHEST_ROW);
}

/** @param {Worker} worker; its name, or its address without the protocol */
export function workerLabel(worker) {
  return (worker.name || worker.address).replace(/^\w+:\/\//, "");
}
