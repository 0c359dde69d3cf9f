// What the server says of the playhead: requested once it stands still, and every few seconds while time moves on.

import { WindowData } from "./window_data.js";

/**
 * @template Answer
 * @extends {WindowData<Answer>}
 */
export class PlayheadData extends WindowData {
  #path;
  #context;

  /**
   * @param {import("../types.js").Context} context
   * @param {string} path below the timeline's URL
   */
  constructor(context, path) {
    super(context.source, path, undefined, ({ playhead }) => ({ at: playhead.toFixed(6) }));
    this.#path = path;
    this.#context = context;
  }

  /** @param {string} path another one: the answer to the one before is forgotten */
  ask(path) {
    if (path === this.#path) return;
    this.#path = path;
    this.restart(path);
  }

  /** @param {import("./window_data.js").Times} view */
  update(view) {
    super.update({ ...view, live: view.live || this.#context.timeline.playing });
  }
}
