// The rows of the task stream: one for each thread of each worker, or for several where they don't fit.

/** @typedef {import("../../timeline/model.js").Model} Model */
/** @typedef {import("../../types.js").Worker} Worker */

/**
 * A row of the task stream. `threads` is how many can be busy at once in it; `worker` is null where it has several.
 * @typedef {{lanes: number[], threads: number, worker: number|null}} Row
 * Rows that share a name: `first` and `count` are rows, `folds` names what a click folds or unfolds.
 * @typedef {{label: string, workers: Worker[], first: number, count: number, depth: number,
 *   folds: string|null, isOpen: boolean}} Group
 * @typedef {{groups: Group[], rows: Row[], height: number}} Layout
 * Options of the rows: `open` has the `folds` of unfolded rows, `rank` sorts workers, `keep` says
 * who has rows.
 * @typedef {{filter: string, open: Set<string>, rank: ((worker: Worker) => number)|null,
 *   keep?: ((worker: Worker) => boolean)|null}} Wishes
 */

const LOWEST_ROW = 6; // px
const LOWEST_GROUP = 13; // px: of a row that has a name of its own
const HIGHEST_ROW = 22;

/**
 * The rows of the workers that lived in [start, stop).
 * @param {Model} model
 * @param {number} start
 * @param {number} stop
 * @param {number} room px
 * @param {Wishes} wishes
 * @returns {Layout} `height` is a row's, in px
 */
export function layoutLanes(model, start, stop, room, { filter, open, rank, keep }) {
  const workers = model.workersBetween(start, stop).filter((worker) => matches(worker, filter) && (keep?.(worker) ?? true));
  if (rank) {
    const ranks = new Map(workers.map((worker) => [worker, rank(worker)]));
    workers.sort((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0));
  }
  /** @type {Layout} */
  const layout = { groups: [], rows: [], height: HIGHEST_ROW };
  const threads = workers.reduce((sum, worker) => sum + threadsOf(model, worker), 0);
  const hosts = byHost(workers);
  const fits = threads * LOWEST_ROW <= room;
  if (fits) for (const worker of workers) addThreads(layout, model, worker, 0, null);
  else if (workers.length * LOWEST_GROUP <= room || hosts.size < 2) {
    for (const worker of workers) addWorker(layout, model, worker, 0, open);
  } else for (const [host, its] of hosts) addHost(layout, model, host, its, open);
  const lowest = fits ? LOWEST_ROW : LOWEST_GROUP;
  layout.height = Math.min(Math.max(Math.floor(room / Math.max(layout.rows.length, 1)), lowest), HIGHEST_ROW);
  return layout;
}

/**
 * @param {Layout} layout
 * @param {Model} model
 * @param {Worker} worker
 * @param {number} depth
 * @param {string|null} folds
 */
function addThreads(layout, model, worker, depth, folds) {
  const lanes = model.lanesOf(worker.id);
  const count = threadsOf(model, worker);
  const group = { label: workerLabel(worker), workers: [worker], first: layout.rows.length, count, depth };
  layout.groups.push({ ...group, folds, isOpen: folds !== null });
  for (let position = 0; position < count; position++) {
    const lane = lanes[position];
    layout.rows.push({ lanes: lane ? [lane.id] : [], threads: 1, worker: worker.id });
  }
}

/**
 * @param {Layout} layout
 * @param {Model} model
 * @param {Worker} worker
 * @param {number} depth
 * @param {Set<string>} open
 */
function addWorker(layout, model, worker, depth, open) {
  const folds = threadsOf(model, worker) > 1 ? `worker ${worker.id}` : null;
  if (folds && open.has(folds)) return addThreads(layout, model, worker, depth, folds);
  const group = { label: workerLabel(worker), workers: [worker], first: layout.rows.length, count: 1, depth };
  layout.groups.push({ ...group, folds, isOpen: false });
  const lanes = model.lanesOf(worker.id).map((lane) => lane.id);
  layout.rows.push({ lanes, threads: threadsOf(model, worker), worker: worker.id });
}

/**
 * @param {Layout} layout
 * @param {Model} model
 * @param {string} host
 * @param {Worker[]} workers
 * @param {Set<string>} open
 */
function addHost(layout, model, host, workers, open) {
  const folds = `host ${host}`;
  const isOpen = open.has(folds);
  layout.groups.push({ label: host, workers, first: layout.rows.length, count: 1, depth: 0, folds, isOpen });
  const lanes = workers.flatMap((worker) => model.lanesOf(worker.id).map((lane) => lane.id));
  layout.rows.push({ lanes, threads: peakThreads(model, workers), worker: null });
  if (isOpen) for (const worker of workers) addWorker(layout, model, worker, 1, open);
}

/**
 * Workers that died and came again aren't there twice.
 * @param {Model} model
 * @param {Worker[]} workers
 */
function peakThreads(model, workers) {
  const changes = workers.flatMap((worker) => [
    { time: worker.started, change: threadsOf(model, worker) },
    { time: worker.ended ?? Infinity, change: -threadsOf(model, worker) },
  ]);
  changes.sort((one, other) => one.time - other.time || one.change - other.change);
  let threads = 0;
  let peak = 1;
  for (const { change } of changes) peak = Math.max(peak, (threads += change));
  return peak;
}

/**
 * @param {Model} model
 * @param {Worker} worker
 */
function threadsOf(model, worker) {
  return Math.max(worker.nthreads, model.lanesOf(worker.id).length, 1);
}

/**
 * In the order of their first workers.
 * @param {Worker[]} workers
 */
function byHost(workers) {
  /** @type {Map<string, Worker[]>} */
  const hosts = new Map();
  for (const worker of workers) {
    const host = worker.host || worker.address.replace(/^\w+:\/\/|:\d+$/g, "");
    const its = hosts.get(host);
    if (its) its.push(worker);
    else hosts.set(host, [worker]);
  }
  return hosts;
}

/**
 * @param {Worker} worker
 * @param {string} filter words that must all occur in its name, address, host or status
 */
function matches(worker, filter) {
  const status = worker.ended === null ? worker.status : `ended ${worker.end_reason}`;
  const text = `${worker.name} ${worker.address} ${worker.host} ${status}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** @param {Worker} worker; its name, or its address without the protocol */
export function workerLabel(worker) {
  return (worker.name || worker.address).replace(/^\w+:\/\//, "");
}
