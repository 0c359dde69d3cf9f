// Requests for tiles that failed: why, and when each is tried again.

const FIRST_WAIT = 1000; // ms before a failed request is sent again; it doubles with each failure
const LONGEST_WAIT = 30_000;

/** @typedef {{count: number, until: number, reason: string}} Failure `until`: ms, as performance.now() */

/** The failures by the tile's key. */
export class Failures {
  /** @type {Map<string, Failure>} */
  #failures = new Map();

  /** @param {string} key */
  has(key) {
    return this.#failures.has(key);
  }

  /**
   * @param {string} key
   * @param {unknown} error
   */
  add(key, error) {
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const wait = Math.min(FIRST_WAIT * 2 ** (count - 1), LONGEST_WAIT);
    this.#failures.set(key, { count, until: performance.now() + wait, reason: reasonOf(error) });
  }

  /** @param {string} key of a tile that has arrived */
  delete(key) {
    this.#failures.delete(key);
  }

  /** @param {string} key; ms before it may be requested again */
  waitFor(key) {
    return Math.max((this.#failures.get(key)?.until ?? 0) - performance.now(), 0);
  }

  /** @param {string} key; why it is missing, or null where no request has failed */
  reason(key) {
    return this.#failures.get(key)?.reason ?? null;
  }
}

/** @param {unknown} error */
function reasonOf(error) {
  if (error instanceof DOMException && error.name === "TimeoutError")
    return "the server did not answer in time";
  if (error instanceof TypeError) return "the server can't be reached"; // as fetch rejects
  return error instanceof Error ? error.message : String(error);
}
