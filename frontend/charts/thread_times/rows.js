// The rows of the table of what threads did and waited for.

/** @typedef {import("../../types.js").Schemas["ThreadTimes"]} ThreadTimes */
/** @typedef {keyof typeof ROWS} RowsName */
/** `share` is of all threads (0 to 1) for a kind, else of the row. @typedef {{kind: string, title: string, seconds: number, share: number}} Part */
/**
 * `worker` and `prefix` are ids, null where the row isn't of one; `kind` likewise.
 * @typedef {{key: string, name: string, help: string, kind: string|null, worker: number|null, prefix: number|null,
 *   seconds: number, share: number, blamed: number|null, parts: Part[]}} Row
 */

export const ROWS = /** @type {const} */ ({
  kinds: { title: "what they did", heading: "what threads did" },
  workers: { title: "workers", heading: "worker" },
  prefixes: { title: "prefixes", heading: "prefix" },
});

/**
 * @param {ThreadTimes} found
 * @param {RowsName} name
 * @param {(worker: number) => string} workerName
 * @returns {Row[]}
 */
export function rowsOf(found, name, workerName) {
  const all = found.kinds.reduce((sum, { seconds }) => sum + seconds, 0);
  if (name === "kinds") {
    const kinds = found.kinds.filter(({ seconds }) => seconds > 0);
    return kinds.map(({ kind, title, help, seconds }) => ({
      key: kind, name: title, help, kind, worker: null, prefix: null, seconds, share: all ? seconds / all : 0, blamed: null, parts: [],
    })); // prettier-ignore
  }
  if (name === "workers") {
    return found.workers.map(({ worker, seconds }) => ({
      ...row(found, seconds, all),
      key: String(worker),
      name: workerName(worker),
      worker,
      prefix: null,
      blamed: null,
    }));
  }
  return found.prefixes.map(({ prefix, name, seconds, blamed }) => ({
    ...row(found, seconds, all),
    key: String(prefix),
    name,
    worker: null,
    prefix,
    blamed,
  }));
}

/**
 * The parts of all that was divided into kinds, in their order.
 * @param {{kinds: {kind: string, title: string, seconds: number}[]}} found
 */
export function partsOf(found) {
  return parts(
    found,
    found.kinds.map(({ seconds }) => seconds),
  );
}

/**
 * @param {ThreadTimes} found
 * @param {number[]} seconds of each kind
 * @param {number} all seconds of all threads
 */
function row(found, seconds, all) {
  const sum = seconds.reduce((one, other) => one + other, 0);
  return { help: "", kind: null, seconds: sum, share: all ? sum / all : 0, parts: parts(found, seconds) };
}

/**
 * @param {{kinds: {kind: string, title: string}[]}} found
 * @param {number[]} seconds of each kind
 * @returns {Part[]}
 */
function parts({ kinds }, seconds) {
  const sum = seconds.reduce((one, other) => one + other, 0);
  const every = kinds.map(({ kind, title }, place) => ({
    kind,
    title,
    seconds: seconds[place],
    share: sum ? seconds[place] / sum : 0,
  }));
  return every.filter((part) => part.seconds > 0);
}
