// What a file has of instants of the run: the figures of the workers, and the largest results in memory.

/** @typedef {import("../../types.js").Schemas["WorkerFigures"]} Figures */
/** @typedef {import("../../types.js").Schemas["ResultsInMemory"]} Results */
/** A column has a value for each instant. @typedef {{id: number, figures: Record<string, (number|null)[]>}} WorkerColumns */

/**
 * The place of the last instant that is known by then: of each instant the file has none.
 * @param {number[]} instants in order of time
 * @param {number} at
 */
export function placeAt(instants, at) {
  const next = instants.findIndex((instant) => instant > at + 1e-6);
  return Math.max((next < 0 ? instants.length : next) - 1, 0);
}

/**
 * @param {WorkerColumns[]} workers
 * @param {number} place of the instant
 * @returns {Partial<Figures>[]} of the workers that had reported any by then
 */
export function figuresAt(workers, place) {
  const rows = workers.map(({ id, figures }) => ({
    id,
    ...Object.fromEntries(Object.entries(figures).map(([name, values]) => [name, values[place]])),
  }));
  return rows.filter(({ id, ...figures }) => Object.values(figures).some((value) => value !== null));
}

/**
 * Finds results as the server does (observatory/replay/results.py), among those that the file lists.
 * @param {Results} answer
 * @param {URLSearchParams} query of /results
 * @returns {Results}
 */
export function findResults(answer, query) {
  const [text, worker] = [(query.get("text") ?? "").toLowerCase(), query.get("worker")];
  if (!text && worker === null) return answer;
  const results = answer.results.filter(
    (one) => one.key.toLowerCase().includes(text) && (worker === null || one.worker === Number(worker)),
  );
  const sizes = results.flatMap(({ nbytes }) => nbytes ?? []);
  const found = {
    count: results.length,
    nbytes: sizes.reduce((sum, size) => sum + size, 0),
    unsized: results.length - sizes.length,
  };
  return { ...answer, found, results };
}
