// The tasks that were stolen in the window, as a table: from whom, by whom, when. A click goes to the task and the moment.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { goToTask } from "../side_list/items.js";
import { workerName } from "../worker/name.js";
import { isOfSelection } from "./names.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/tasks/stolen.js").Steal} Steal */

const STOCK = "Dask's stock endpoints don't tell what was stolen. The agent adds it.";

/** @type {Chart} */
export const steals = {
  name: "steals",
  title: "Work stealing",
  place: "below",
  layers: [],
  help:
    "Tasks that Dask moved from a worker with much work to one with little, or those of the selected worker. A request fails where, " +
    "for example, the task is running already. Click one to go to the task and the moment.",
  create: (parent, context) => new Steals(parent, context),
};

class Steals {
  #parent;
  #context;
  #note = element("p", "muted transfer-note");
  /** @type {DataTable<Steal>} */
  #table;
  #shown = "";

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    parent.append(this.#note);
    this.#table = new DataTable(parent, columns(context), {
      label: "stolen tasks",
      empty: "Nothing was stolen.",
      key: ({ key, time }) => `${time} ${key}`,
      find: ({ key, victim, thief }) =>
        [key, workerName(context, victim), workerName(context, thief)].join(" "),
      choose: ({ key, prefix, time }) => goToTask(context, { key, prefix }, time),
      isChosen: ({ key }) => key === context.selection.key,
    });
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { stolen, selection, model, info } = this.#context;
    const transfers = this.#context.features.of(Transfers);
    transfers.show(view, selection.worker);
    const rows = stolen
      .between(view.start, view.stop)
      .filter(({ victim, thief }) => isOfSelection(this.#context, victim, thief));
    const note = this.#noteText();
    const shown = JSON.stringify([
      rows.length,
      rows[0],
      rows.at(-1),
      note,
      model.version,
      selection.key,
      selection.worker,
    ]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#note.textContent = note;
    this.#note.hidden = !note;
    this.#table.show(rows, info.has_agent || rows.length ? "" : STOCK);
  }

  table() {
    return { ...this.#table.table(), note: this.#noteText() };
  }

  /** What became of the requests, and what the list leaves out. */
  #noteText() {
    const { stolen } = this.#context;
    const transfers = this.#context.features.of(Transfers);
    const words = Object.keys(OUTCOMES);
    const outcomes = Object.entries(transfers.answer?.outcomes ?? {}).sort(
      ([one], [other]) => words.indexOf(one) - words.indexOf(other),
    );
    const texts = outcomes.map(([outcome, count]) => `${formatCount(count)} ${OUTCOMES[outcome] ?? outcome}`);
    const requests = texts.length ? `Requests to steal: ${texts.join(", ")}.` : "";
    const cut = stolen.isCut
      ? `The list has the first ${formatCount(stolen.list.length)} of ${formatCount(stolen.total)}: zoom in.`
      : "";
    return [requests, cut].filter(Boolean).join(" ");
  }
}

/** @type {Record<string, string>} of distributed.stealing, in words */
const OUTCOMES = {
  confirm: "succeeded",
  "already-computing": "came too late (computing already)",
  reschedule: "ended with a worker that had left",
  "stale-response": "were outdated",
  "already-aborted": "were given up",
};

/**
 * @param {Context} context
 * @returns {import("../data_table/data_table.js").Column<Steal>[]}
 */
function columns(context) {
  return [
    { name: "key", title: "task", value: ({ key }) => key },
    { name: "prefix", title: "prefix", value: ({ prefix }) => context.model.prefixName(prefix) },
    { name: "victim", title: "from", value: ({ victim }) => workerName(context, victim) },
    { name: "thief", title: "to", value: ({ thief }) => workerName(context, thief) },
    {
      name: "time",
      title: "when",
      value: ({ time }) => isoTime(time),
      text: ({ time }) => formatTime(time, 3),
    },
  ];
}
