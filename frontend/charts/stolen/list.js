// The stolen tasks of the window as a list. A click selects the task and goes to it.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { workerLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime } from "../chart_menu/table.js";
import { goToTask, listItem } from "../side_list/items.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/tasks/stolen.js").Steal} Steal */

const MOST = 8;

/** @type {Chart} */
export const stolenList = {
  name: "stolen",
  title: "Stolen tasks",
  place: "side",
  layers: [],
  help:
    "Tasks of the window that Dask moved from a worker with much work to one with little. The task stream marks them by a corner. " +
    "Click one to select it and to go to it.",
  create: (element, context) => new StolenList(element, context),
};

class StolenList {
  #element;
  #context;
  #list = element("ul", "side-list");
  #note = element("p", "notes-empty muted");
  /** @type {Steal[]} */
  #found = [];
  #shown = "";

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

  /** How many there are. */
  get summary() {
    return this.#found.length ? formatCount(this.#found.length) : "";
  }

  /** @param {View} view */
  isEmpty({ start, stop }) {
    return !this.#context.stolen.between(start, stop).length;
  }

  /** @param {View} view */
  draw({ start, stop }) {
    const { stolen, model } = this.#context;
    this.#found = stolen.between(start, stop);
    const first = this.#found.slice(0, MOST);
    const shown = `${model.version} ${JSON.stringify(first)}`;
    this.#note.textContent = this.#noteText();
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#list.replaceChildren(...first.map((steal) => this.#item(steal)));
  }

  table() {
    const rows = this.#found.map(({ time, key, prefix, victim, thief }) => {
      return [
        isoTime(time),
        key,
        this.#context.model.prefixName(prefix),
        this.#worker(victim),
        this.#worker(thief),
      ];
    });
    return { columns: ["time (UTC)", "key", "prefix", "from", "to"], rows };
  }

  #noteText() {
    const { stolen, info } = this.#context;
    if (!info.has_agent) return "Steals are recorded by the agent only.";
    const more = this.#found.length - MOST;
    const cut = stolen.isCut
      ? ` Only the first ${formatCount(stolen.list.length)} of ${formatCount(stolen.total)} are known: zoom in.`
      : "";
    return `${more > 0 ? `and ${formatCount(more)} more` : this.#found.length ? "" : "None."}${cut}`.trim();
  }

  /** @param {Steal} steal */
  #item({ key, prefix, time, victim, thief }) {
    const where = `${formatTime(time, 1)} · from ${this.#worker(victim)} to ${this.#worker(thief)}`;
    return listItem(key, key, where, () => goToTask(this.#context, { key, prefix }, time));
  }

  /** @param {number|null} id */
  #worker(id) {
    const worker = this.#context.model.workers.get(id ?? -1);
    return worker ? workerLabel(worker) : "an unknown worker";
  }
}
