// Requests layouts of graphs from a worker, which starts with the first one.

/** @typedef {import("./layered_layout.js").Graph} Graph */
/** @typedef {import("./layered_layout.js").Layout} Layout */

export class Layouts {
  /** @type {Promise<Worker>|null} */
  #worker = null;
  #newest = 0;
  #isClosed = false;
  #source;
  #onLayout;
  #onError;

  /**
   * @param {import("../../timeline/sources/source.js").Source} source a file has the worker's code in it
   * @param {(layout: Layout) => void} onLayout called with the newest layout
   * @param {(message: string) => void} onError
   */
  constructor(source, onLayout, onError) {
    this.#source = source;
    this.#onLayout = onLayout;
    this.#onError = onError;
  }

  /** @param {Graph} graph */
  async request(graph) {
    const id = ++this.#newest;
    try {
      this.#worker ??= this.#start();
      const worker = await this.#worker;
      worker.postMessage({ id, graph });
    } catch (error) {
      this.#onError(String(error));
    }
  }

  close() {
    this.#isClosed = true;
    this.#newest += 1;
    void this.#worker?.then((worker) => worker.terminate());
  }

  async #start() {
    const bundled = await this.#source.worker?.();
    const worker = bundled
      ? new Worker(bundled)
      : new Worker(new URL("./layout_worker.js", import.meta.url).href, { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.id === this.#newest) this.#onLayout(data.layout);
    };
    worker.onerror = (event) => this.#onError(event.message || "the worker can't be started");
    if (this.#isClosed) worker.terminate();
    return worker;
  }
}
