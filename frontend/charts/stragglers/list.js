// The stragglers of the window as a list. A click selects the task and goes to it.

import { STRAGGLER } from "../../contract.js";
import { element } from "../../element.js";
import { formatDuration } from "../../formatting.js";
import { excessOf, usualText } from "../../timeline/tasks/stragglers.js";
import { workerLabel } from "../../timeline/slots.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { goToTask, listItem } from "../side_list/items.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../timeline/tasks/stragglers.js").Straggler} Straggler */

const MOST = 8;

const SUMMED =
  "Rows of this many workers sum up their tasks. The outliers name the longest ones; an unfolded worker shows each task.";

/** @type {Chart} */
export const stragglersList = {
  name: "stragglers",
  title: "Stragglers",
  place: "side",
  layers: [],
  help:
    `Tasks of the window that took ${STRAGGLER.ratio} times the median of their prefix and ${STRAGGLER.excess} s more, and are ` +
    "outliers, of those that the task stream shows one by one; those that took longest beyond the median first. Click one to " +
    "select it and to go to it.",
  create: (element, context) => new StragglersList(element, context),
};

class StragglersList {
  #element;
  #context;
  #list = element("ul", "side-list");
  #note = element("p", "notes-empty muted");
  /** @type {Straggler[]|null} */
  #shown = null;
  #areSummed = false;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#element = parent;
    this.#context = context;
    parent.append(this.#list, this.#note);
  }

  destroy() {
    this.#element.replaceChildren();
  }

  isEmpty() {
    const { list, areSummed } = this.#context.stragglers;
    return !list.length && !areSummed;
  }

  draw() {
    const { list, areSummed } = this.#context.stragglers;
    if (list === this.#shown && areSummed === this.#areSummed) return;
    this.#shown = list;
    this.#areSummed = areSummed;
    this.#list.replaceChildren(...list.slice(0, MOST).map((straggler) => this.#item(straggler)));
    this.#note.textContent =
      list.length > MOST ? `and ${list.length - MOST} more` : list.length ? "" : areSummed ? SUMMED : "None.";
  }

  table() {
    const { model } = this.#context;
    const rows = (this.#shown ?? []).map((straggler) => {
      const { key, prefix, lane, start, stop } = straggler;
      const worker = model.workerOf(lane);
      return [
        isoTime(start),
        key,
        model.prefixName(prefix),
        worker ? workerLabel(worker) : "",
        microseconds(stop - start),
        microseconds(excessOf(straggler)),
      ];
    });
    return { columns: ["begin (UTC)", "key", "prefix", "worker", "seconds", "beyond the median"], rows };
  }

  /** @param {Straggler} straggler */
  #item({ key, prefix, lane, start, stop, usual }) {
    const { model } = this.#context;
    const worker = model.workerOf(lane);
    const where = worker ? ` · ${workerLabel(worker)}` : "";
    const text = `${formatDuration(stop - start)} · ${usualText(usual)}${where}`;
    return listItem(key || model.prefixName(prefix), key, text, () =>
      goToTask(this.#context, { key, prefix }, start),
    );
  }
}
