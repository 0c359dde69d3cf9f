// Who sent what to whom in the timeline's window, and the bytes over time of the selected worker: from /transfers.

import { WindowData } from "../../timeline/window_data.js";

/** @typedef {import("../../types.js").Schemas["Transfers"]} Answer */
/** @typedef {import("../../types.js").View} View */

const PATH = "/transfers";

/** @extends {WindowData<Answer>} */
export class Transfers extends WindowData {
  /** @type {number|null} id */
  #worker = null;

  /** @param {Pick<import("../../types.js").Context, "source">} context */
  constructor({ source }) {
    super(source, PATH);
  }

  /**
   * To be called with each drawing of a chart that shows them.
   * @param {View} view
   * @param {number|null} worker id of the selected one
   */
  show(view, worker) {
    if (worker !== this.#worker) {
      this.#worker = worker;
      this.restart(worker === null ? PATH : `${PATH}?worker=${worker}`);
    }
    this.update(view);
  }
}
