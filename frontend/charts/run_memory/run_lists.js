// The runs that can be laid over each other: on the page of a run it and earlier ones of its name, and the cluster's newest.

/** @typedef {Pick<import("../../types.js").Schemas["RunOut"], "id"|"name"|"cluster"|"cluster_name"|"start"|"stop">} Run */
/** @typedef {{title: string, runs: Run[]}} RunList */

const MOST_OF_NAME = 20;
const MOST_OF_CLUSTER = 50;
const FIRST = 3; // runs that are shown at first

/**
 * @param {(path: string) => Promise<any>} ask for an answer of the API, null where there is none
 * @param {number} cluster id
 * @param {number|undefined} run that the page is of
 * @returns {Promise<RunList[]>} rejects where the server can't be reached; a run is in one list
 */
export async function loadRunLists(ask, cluster, run) {
  const [own, newest] = await Promise.all([
    run === undefined ? null : ask(`/runs/${run}`),
    ask(`/runs?cluster=${cluster}&page_size=${MOST_OF_CLUSTER}`),
  ]);
  const others = /** @type {Run[]} */ (newest?.items ?? []);
  if (!own) return [{ title: "Runs of this cluster", runs: others }];
  const before = await ask(`/runs?like=${own.id}&until=${own.start}&page_size=${MOST_OF_NAME}`);
  const alike = [own, ...(before?.items ?? []).filter((/** @type {Run} */ { id }) => id !== own.id)];
  const known = new Set(alike.map(({ id }) => id));
  return [
    { title: "This run, and earlier ones of its name", runs: alike },
    { title: "Other runs of this cluster", runs: others.filter(({ id }) => !known.has(id)) },
  ];
}

/**
 * The runs that are shown before anybody chose any: the first ones, which are the newest.
 * @param {RunList[]} lists
 */
export function firstRuns(lists) {
  return lists.flatMap(({ runs }) => runs.slice(0, FIRST).map(({ id }) => id)).slice(0, FIRST);
}

/**
 * The place of each run's colour: a run keeps its own while it is chosen, so no line changes its colour as another one goes.
 * @param {ReadonlyMap<number, number>} before places by id
 * @param {number[]} ids chosen now
 * @returns {Map<number, number>}
 */
export function colorPlaces(before, ids) {
  const places = new Map(
    ids.flatMap((id) => (before.has(id) ? [[id, /** @type {number} */ (before.get(id))]] : [])),
  );
  const taken = new Set(places.values());
  for (const id of ids) {
    if (places.has(id)) continue;
    let free = 0;
    while (taken.has(free)) free += 1;
    taken.add(free);
    places.set(id, free);
  }
  return places;
}
