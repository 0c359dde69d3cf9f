// The critical path of the window: what each step waited for, from its last task backwards.

import { WindowData } from "../../timeline/window_data.js";

/** @typedef {import("../../types.js").Schemas["CriticalPathAnswer"]} Answer */
/** @typedef {import("../../types.js").Schemas["PieceOfPath"]} Piece */

const SAME = 1e-6; // seconds

/** @extends {WindowData<Answer>} */
export class CriticalPath extends WindowData {
  #isShown = false;

  /** @param {Pick<import("../../types.js").Context, "source">} context */
  constructor({ source }) {
    super(source, "/critical-path");
  }

  /** @param {boolean} isShown whether a chart shows it, so that the task stream draws its line */
  set isShown(isShown) {
    this.#isShown = isShown;
    this.dispatchEvent(new Event("change"));
  }

  /** @returns {Piece[]} those that are drawn, in order of time */
  get pieces() {
    return (this.#isShown && this.answer?.pieces) || [];
  }

  /**
   * @param {number} time seconds
   * @returns {Piece|null} the piece at that time, or else the last one before it
   */
  at(time) {
    return this.pieces.findLast(({ start }) => start <= time + SAME) ?? null;
  }

  /**
   * @param {number} time seconds
   * @param {1|-1} direction
   * @returns {Piece|null} the first piece after that time, or the last one that began before; at an end, that of the other end
   */
  next(time, direction) {
    const { pieces } = this;
    if (direction > 0) return pieces.find(({ start }) => start > time + SAME) ?? pieces[0] ?? null;
    return pieces.findLast(({ start }) => start < time - SAME) ?? pieces.at(-1) ?? null;
  }
}

/**
 * Goes to the next piece of the path: its time, and its task.
 * @param {import("../../types.js").Context} context
 * @param {1|-1} direction
 */
export function followPath({ features, selection, timeline }, direction) {
  const piece = features.of(CriticalPath).next(timeline.playhead, direction);
  if (!piece) return;
  if (piece.key !== null) selection.set({ worker: null, prefix: piece.prefix, key: piece.key });
  timeline.jump(piece.start);
}
