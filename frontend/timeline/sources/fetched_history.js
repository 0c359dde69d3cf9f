// Requests that need archived records: the server fetches these and says how far it is, until it can answer.

const PATIENCE = "wait=1"; // seconds before the server says so

/** Fires "change" when `message` is another: how far the server is, for people; empty: no request waits for it. */
class FetchedHistory extends EventTarget {
  message = "";
  #waiting = 0;

  /**
   * @param {string} path
   * @param {RequestInit} [options]
   * @returns {Promise<Response>} as fetch gives it
   */
  async request(path, options) {
    const sent = { ...options, headers: { ...options?.headers, Prefer: PATIENCE } };
    let waits = false;
    try {
      for (;;) {
        const response = await fetch(path, sent);
        const progress = response.status === 503 ? await read(response) : null;
        if (!progress?.fetching) return response;
        if (!waits) this.#waiting++;
        waits = true;
        this.#say(progress.detail);
        await pause(Number(response.headers.get("Retry-After")), options?.signal);
      }
    } finally {
      if (waits && --this.#waiting === 0) this.#say("");
    }
  }

  /** @param {string} message */
  #say(message) {
    if (message === this.message) return;
    this.message = message;
    this.dispatchEvent(new Event("change"));
  }
}

export const fetchedHistory = new FetchedHistory();

/** @param {Response} response */
function read(response) {
  return response
    .clone()
    .json()
    .catch(() => null);
}

/**
 * @param {number} seconds
 * @param {AbortSignal|null} [signal] ends it
 */
function pause(seconds, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", resolve, { once: true });
  });
}
