// The prefixes, or the groups, of the window as a table. A row opens to its slowest tasks, its workers and its groups.

import { element } from "../../element.js";
import { formatCount, formatDuration } from "../../formatting.js";
import { WindowData } from "../../timeline/window_data.js";
import { DataTable } from "../data_table/data_table.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { Shown } from "../drawing/shown.js";
import { AtPlayhead, MEMORY_LAYER } from "./at_playhead.js";
import { durationAxis } from "./duration_bars.js";
import { groupColumns, prefixColumns } from "./figures.js";
import { keySearch } from "./key_search.js";
import { PrefixDetail } from "./prefix_detail.js";
import { stateLegend } from "./state_bar.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {Schemas["Prefixes"] | Schemas["Groups"]} Answer */
/** @typedef {Schemas["PrefixFigures"]} PrefixFigures */
/** @typedef {Schemas["GroupFigures"]} GroupFigures */

const KINDS = { prefixes: "prefixes", groups: "groups" };

/** @type {Chart} */
export const prefixTable = {
  name: "prefixes",
  title: "Prefixes",
  place: "below",
  layers: [MEMORY_LAYER],
  help:
    "What the tasks of each prefix, or group, did in the window; “done”, “states” and “in memory” are at the playhead. Click a name to select the prefix in all charts, ▸ to see " +
    "its slowest tasks, its workers and its groups.",
  create: (parent, context) => new PrefixTable(parent, context),
};

class PrefixTable {
  #parent;
  #context;
  #holder = element("div", "prefix-table");
  #legend = element("p", "state-legend");
  #note = element("p", "chart-empty");
  /** @type {keyof typeof KINDS} */
  #kind = "prefixes";
  /** @type {WindowData<Answer>} */
  #data;
  #now;
  /** @type {import("./figures.js").Surroundings} */
  #around;
  /** @type {DataTable<any>} */
  #table;
  /** @type {Map<number, PrefixDetail>} of the rows that were opened, by prefix */
  #details = new Map();
  /** @type {View|null} */
  #view = null;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new WindowData(context.source, "/prefixes");
    this.#data.addEventListener("change", () => this.#render());
    this.#now = new AtPlayhead(context);
    this.#now.addEventListener("change", () => this.#view && this.draw(this.#view));
    this.#around = {
      axis: durationAxis([], { shortest: 1e-6, bins_of_octave: 4 }),
      progress: new Map(),
      now: this.#now,
    };
    const choice = kindChoice("Rows of the table", KINDS, this.#kind, (kind) => this.#choose(kind));
    choice.append(keySearch(context));
    this.#table = this.#makeTable();
    parent.append(choice, this.#holder, this.#legend, this.#note);
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#data.stop();
    this.#now.stop();
    for (const detail of this.#details.values()) detail.stop();
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    this.#data.update(view);
    for (const detail of this.#details.values()) {
      if (detail.element.isConnected) detail.update(view);
      else detail.stop();
    }
    const { selection, model } = this.#context;
    const isMoved = this.#now.update(view);
    if (
      !this.#shown.changes(view.state, selection.prefix, selection.key, selection.worker, model.version) &&
      !isMoved
    )
      return;
    this.#around.progress = new Map(view.state?.progress.map((row) => [row.name, row]));
    this.#render();
    for (const detail of this.#details.values()) detail.redraw();
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    return this.#table.table();
  }

  #render() {
    const { answer, message } = this.#data;
    const rows = answer ? rowsOf(answer) : [];
    if (answer) this.#around.axis = durationAxis(rows, answer);
    this.#table.show(rows, message);
    const legend = rows.length ? stateLegend(this.#now.statesOfPrefixes.values()) : [];
    this.#legend.replaceChildren(...(legend.length ? ["States:", ...legend] : []));
    this.#note.textContent = answer && rows.length ? this.#noteText(answer) : "";
    if (!answer || !("prefixes" in answer)) return;
    for (const row of answer.prefixes) this.#details.get(row.prefix)?.setDurations(row, answer);
  }

  /** @param {Answer} answer */
  #noteText(answer) {
    const { info, source } = this.#context;
    const count = rowsOf(answer).length + answer.others;
    const noun = this.#kind === "groups" ? "group" : "prefix";
    const texts = [
      `${formatCount(count)} ${count === 1 ? noun : this.#kind}.`,
      ...durationRange(rowsOf(answer)),
    ];
    if (answer.others)
      texts.push(
        `${formatCount(answer.others)} of them are not listed; they took ${formatDuration(answer.others_seconds)} together.`,
      );
    if (this.#now.others)
      texts.push(
        `The states leave out the tasks of ${formatCount(this.#now.others)} groups that took little time.`,
      );
    if (source.isFile) texts.push("A file has this of the whole run, not of the window.");
    if (!info.has_agent && this.#kind === "prefixes")
      texts.push("Errors and retries of each prefix are recorded by the agent only.");
    if (this.#data.message) texts.push(this.#data.message);
    return texts.join(" ");
  }

  #makeTable() {
    const { selection } = this.#context;
    this.#holder.replaceChildren();
    const options = {
      empty: "No task computed in this window.",
      find: (/** @type {{name: string}} */ { name }) => name,
      sorted: "seconds",
      isChosen: (/** @type {{prefix: number}} */ { prefix }) => selection.prefix === prefix,
      choose: (/** @type {{prefix: number}} */ { prefix }) =>
        selection.set({ prefix: selection.prefix === prefix ? null : prefix, key: null }),
    };
    if (this.#kind === "groups") {
      const key = (/** @type {GroupFigures} */ { group }) => group;
      return new DataTable(this.#holder, groupColumns(this.#context, this.#around), {
        ...options,
        label: "groups",
        key,
      });
    }
    const key = (/** @type {PrefixFigures} */ { prefix }) => prefix;
    const open = (/** @type {PrefixFigures} */ row) => this.#open(row);
    return new DataTable(this.#holder, prefixColumns(this.#context, this.#around), {
      ...options,
      label: "prefixes",
      key,
      open,
    });
  }

  /** @param {PrefixFigures} row */
  #open(row) {
    const detail = new PrefixDetail(this.#context, row.prefix, this.#now);
    if (this.#data.answer) detail.setDurations(row, this.#data.answer);
    if (this.#view) detail.update(this.#view);
    this.#details.get(row.prefix)?.stop();
    this.#details.set(row.prefix, detail);
    return detail.element;
  }

  /** @param {keyof typeof KINDS} kind */
  #choose(kind) {
    if (kind === this.#kind) return;
    this.#kind = kind;
    this.#data.restart(`/${kind}`);
    this.#table = this.#makeTable();
    this.#render();
    if (this.#view) this.#data.update(this.#view);
  }
}

/**
 * The shortest and the longest task of all rows in words; nothing where none ended.
 * @param {(PrefixFigures|GroupFigures)[]} rows
 */
function durationRange(rows) {
  const shortest = Math.min(...rows.map((row) => row.shortest ?? Infinity));
  const longest = Math.max(...rows.map((row) => row.longest ?? 0));
  return shortest === Infinity
    ? []
    : [`Tasks took ${formatDuration(shortest)} to ${formatDuration(longest)}.`];
}

/** @param {Answer} answer @returns {(PrefixFigures|GroupFigures)[]} */
function rowsOf(answer) {
  return "prefixes" in answer ? answer.prefixes : answer.groups;
}
