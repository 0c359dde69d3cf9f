// What a pointer over the task stream finds: it describes the task, worker or GPU there, and a click selects it.

import { leftGutter } from "../../types.js";
import { newest } from "../../timeline/slots.js";
import { Tooltip } from "../drawing/tooltip.js";
import { hitLanes } from "./lanes/hit.js";
import { describeEnd, describeWorker, endNear } from "./lanes/lifetimes.js";
import { CARET, INDENT } from "./lanes/names.js";
import { OTHER_PREFIXES } from "./lanes/worker_sums.js";
import { askForKey, describeHit } from "./span_text.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./lanes/rows.js").Group} Group */
/** @typedef {import("./lanes/rows.js").Row} Row */
/** @typedef {import("./lanes/rows.js").Layout} Layout */
/** @typedef {import("./lanes/hit.js").Hit} Hit */

const REACH = 5; // px around the mark of a worker's end

/**
 * @param {number} x px
 * @param {View} view
 */
const timeAt = (x, { start, stop, width }) => start + ((x - leftGutter()) * (stop - start)) / width;

export class StreamPointer {
  #canvas;
  #context;
  #parts;
  #tooltip;
  #isOver = false;
  #asked = ""; // the bar whose key was asked for last

  /**
   * @param {HTMLElement} stage
   * @param {HTMLCanvasElement} canvas
   * @param {Context} context
   * @param {{tiles: import("./lanes/lane_tiles.js").LaneTiles, gpus: import("./lanes/gpu_rows.js").GpuRows,
   *   controls: import("./lanes/controls.js").LaneControls,
   *   shown: () => {view: View|null, layout: Layout, scroll: number}}} parts `shown`: what the stage has at this moment
   */
  constructor(stage, canvas, context, parts) {
    this.#canvas = canvas;
    this.#context = context;
    this.#parts = parts;
    this.#tooltip = new Tooltip(stage);
    stage.addEventListener("pointermove", (event) => this.#hover(event));
    stage.addEventListener("pointerleave", () => {
      this.#isOver = false;
      this.#tooltip.hide();
    });
    stage.addEventListener("click", (event) => this.#click(event));
  }

  get isOver() {
    return this.#isOver;
  }

  /**
   * @param {MouseEvent} event
   * @returns {{x: number, y: number, row: Row|null, group: Group|null, time: number|null, hit: Hit|null,
   *   ended: import("../../types.js").Worker|null}} `ended`: the worker whose end is marked there
   */
  #locate(event) {
    const box = this.#canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { view, layout, scroll } = this.#parts.shown();
    const number = Math.floor((y + scroll) / layout.height);
    const row = layout.rows[number] ?? null;
    const group = layout.groups.find(({ first, count }) => number >= first && number < first + count) ?? null;
    const left = leftGutter();
    if (!view || !row || x < left || x > left + view.width)
      return { x, y, row, group, time: null, hit: null, ended: null };
    const pixel = (view.stop - view.start) / view.width;
    const time = timeAt(x, view);
    const hit = row.lanes.length
      ? hitLanes(this.#parts.tiles.all, this.#context.model, row, time, pixel, this.#context.selection.hidden)
      : null;
    const ended = group?.slots.length === 1 ? endNear(group.slots[0].lifetimes, time, REACH * pixel) : null;
    return { x, y, row, group, time, hit, ended };
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    this.#isOver = true;
    const { x, y, row, group, time, hit, ended } = this.#locate(event);
    const isDragging = event.buttons > 0 && event.pointerType === "mouse";
    const isName = x < leftGutter() && group !== null;
    this.#canvas.style.cursor = isName || hit ? "pointer" : "";
    this.#asked = "";
    if (isDragging || !group || !row) return this.#tooltip.hide();
    const lifetimes =
      group.slots.length === 1 ? (this.#context.model.slots.get(group.slots[0].key)?.lifetimes ?? []) : [];
    const about =
      isName && lifetimes.length ? describeWorker(lifetimes) : ended ? describeEnd(ended, lifetimes) : null;
    if (about) return this.#tooltip.show(x, y, about.title, about.lines);
    if (row.isGpu && time !== null)
      return this.#tooltip.show(x, y, `GPU of ${group.label}`, this.#parts.gpus.describe(row.slot, time));
    if (!hit) return this.#tooltip.hide();
    const { title, lines } = describeHit(hit, this.#context, group.label, row);
    this.#tooltip.show(x, y, title, lines);
    const at = `${row.lanes} ${hit.start}`;
    this.#asked = at;
    void askForKey(hit, this.#context.source).then((key) => {
      if (key && this.#asked === at) this.#tooltip.show(x, y, title, [["key", key], ...lines]);
    });
  }

  /**
   * Selects the task (or, of many, the prefix that took longest), or the worker whose name it is; folds a host.
   * @param {MouseEvent} event
   */
  #click(event) {
    const { selection, model } = this.#context;
    const { x, group, hit } = this.#locate(event);
    if (x < leftGutter() && group) {
      const isCaret = x < group.depth * INDENT + CARET || group.slots.length > 1;
      const [slot] = group.slots;
      const isChosen = model.slotOf(selection.worker)?.key === slot.key;
      if (group.folds && isCaret) this.#parts.controls.toggle(group.folds);
      else selection.set({ worker: isChosen ? null : newest(slot).id, prefix: null, key: null });
    } else if (hit) {
      const prefix = hit.span?.prefix ?? hit.shares.find((share) => share.prefix !== OTHER_PREFIXES)?.prefix;
      if (prefix === undefined) return selection.clear();
      const key = hit.span?.key ?? null;
      const same = selection.prefix === prefix && selection.key === key;
      if (same) selection.clear();
      else selection.set({ worker: null, prefix, key });
    } else {
      return selection.clear();
    }
    event.preventDefault();
  }
}
