// The critical path: as one bar, as a table of what it consists of, and with buttons that follow it.

import { element } from "../../element.js";
import { formatCount, formatDuration, formatPercent } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { prefixCell } from "../data_table/prefix_cell.js";
import { Shown } from "../drawing/shown.js";
import { kindColor } from "../thread_times/kinds.js";
import { partsOf } from "../thread_times/rows.js";
import { stackedBar } from "../thread_times/stacked_bar.js";
import { workerName } from "../worker/name.js";
import { PATH_ROWS, pathRows } from "./path_rows.js";
import { CriticalPath, followPath } from "./data.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./path_rows.js").PathRow} PathRow */
/** @typedef {import("./path_rows.js").PathRows} PathRows */
/** @typedef {import("../data_table/data_table.js").Column<PathRow>} Column */

/** @type {Chart} */
export const criticalPath = {
  name: "critical-path",
  title: "Critical path",
  place: "below",
  layers: [],
  commands: [
    {
      does: "previous and next piece of the critical path, on the tab Why?",
      keys: [["[", "]"]],
      runs: [(context) => followPath(context, -1), (context) => followPath(context, 1)],
    },
  ],
  help:
    "What the window's last task had to wait for last, what that had to wait for, and so on: only what is on this path could have made it " +
    "end earlier. On the task stream it is a line, dashed where a task waited. [ and ] follow it. Slack is how much longer tasks of a prefix " +
    "could have taken without delaying the end.",
  create: (parent, context) => new PathBreakdown(parent, context),
};

class PathBreakdown {
  #parent;
  #context;
  #path;
  #bar = element("div", "time-of-all");
  #place = element("span", "muted");
  #holder = element("div", "");
  #note = element("p", "chart-note muted");
  /** @type {PathRows} */
  #rows = "kinds";
  #table;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#path = context.features.of(CriticalPath);
    this.#path.isShown = true;
    const titles = {
      kinds: PATH_ROWS.kinds.title,
      prefixes: PATH_ROWS.prefixes.title,
      pieces: PATH_ROWS.pieces.title,
    };
    const choice = kindChoice("Rows of the critical path", titles, this.#rows, (name) => this.#choose(name));
    const steps = element(
      "div",
      "path-steps",
      this.#step("Previous piece", "[", -1),
      this.#step("Next piece", "]", 1),
      this.#place,
    );
    this.#place.setAttribute("role", "status");
    parent.append(this.#bar, steps, choice, this.#holder, this.#note);
    this.#table = this.#makeTable();
  }

  destroy() {
    this.#path.isShown = false;
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { selection, model } = this.#context;
    this.#path.update(view);
    this.#place.textContent = this.#placeText(view.playhead);
    if (
      !this.#shown.changes(
        this.#path.answer,
        this.#path.message,
        selection.prefix,
        selection.key,
        model.version,
      )
    )
      return;
    this.#render();
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    return this.#table.table();
  }

  #render() {
    const { answer, message } = this.#path;
    const isEmpty = answer !== null && !answer.pieces.some(({ key }) => key !== null);
    const missing = isEmpty ? "No task computed in this window." : answer ? "" : message;
    this.#bar.replaceChildren(...(answer && !missing ? [stackedBar(partsOf(answer))] : []));
    this.#table.show(answer && !missing ? pathRows(answer, this.#rows) : [], missing);
    this.#note.textContent = answer && !missing ? this.#noteText(answer, message) : "";
    this.#note.hidden = !this.#note.textContent;
  }

  /**
   * @param {import("./path_rows.js").Answer} answer
   * @param {string} message
   */
  #noteText(answer, message) {
    if (message) return message;
    const notes =
      this.#context.source.url === "" ? ["A file has the path of the whole run, whatever the window."] : [];
    if (!answer.has_agent)
      notes.push("Without the agent, what tasks needed is not recorded: the path follows the threads.");
    else if (!answer.has_graph) notes.push("No dependencies between tasks were recorded.");
    if (answer.other_pieces && this.#rows === "pieces")
      notes.push(`${formatCount(answer.other_pieces)} shorter pieces are left out.`);
    if (answer.other_prefixes && this.#rows === "prefixes")
      notes.push(`${formatCount(answer.other_prefixes)} prefixes with less of the path are left out.`);
    return notes.join(" ");
  }

  /** @param {number} playhead */
  #placeText(playhead) {
    const piece = this.#path.at(playhead);
    if (!piece || playhead > piece.stop) return "";
    const title = this.#path.answer?.kinds.find(({ kind }) => kind === piece.kind)?.title ?? piece.kind;
    const took = formatDuration(piece.stop - piece.start);
    return piece.key === null ? `${title}, ${took}` : `${title}, ${took}: ${piece.key}`;
  }

  /**
   * @param {string} name
   * @param {string} key
   * @param {1|-1} direction
   */
  #step(name, key, direction) {
    const button = element("button", "", name, " ", element("kbd", "", key));
    button.type = "button";
    button.addEventListener("click", () => followPath(this.#context, direction));
    return button;
  }

  /** @param {PathRows} name */
  #choose(name) {
    this.#rows = name;
    this.#table = this.#makeTable();
    this.#render();
  }

  /** @param {PathRow} row */
  #go({ kind, prefix, piece }) {
    const { selection, timeline } = this.#context;
    if (piece === null && prefix !== null)
      return selection.set({ prefix: selection.prefix === prefix ? null : prefix, key: null });
    const pieces = this.#path.pieces.filter((one) => one.kind === kind);
    const target =
      piece ??
      pieces.reduce(
        (longest, one) => (one.stop - one.start > longest.stop - longest.start ? one : longest),
        pieces[0],
      );
    if (!target) return;
    if (target.key !== null) selection.set({ worker: null, prefix: target.prefix, key: target.key });
    timeline.jump(target.start);
  }

  /** @returns {DataTable<PathRow>} */
  #makeTable() {
    const { selection } = this.#context;
    this.#holder.replaceChildren();
    return new DataTable(this.#holder, this.#columns(), {
      label: `critical path ${PATH_ROWS[this.#rows].title}`,
      empty: "No task computed in this window.",
      key: ({ id }) => id,
      find: ({ name }) => name,
      sorted: this.#rows === "pieces" ? "start" : "seconds",
      choose: (row) => this.#go(row),
      isChosen: ({ prefix, piece }) =>
        piece
          ? piece.key !== null && piece.key === selection.key
          : prefix !== null && prefix === selection.prefix,
    });
  }

  /** @returns {Column[]} */
  #columns() {
    /** @type {Column[]} */
    const columns = [
      {
        name: "name",
        title: PATH_ROWS[this.#rows].heading,
        value: ({ name }) => name,
        cell: (row) => this.#nameCell(row),
      },
      {
        name: "seconds",
        title: "time on the path",
        unit: "s",
        value: ({ seconds }) => microseconds(seconds),
        text: ({ seconds }) => formatDuration(seconds),
      },
      {
        name: "share",
        title: "share",
        help: "Of the window",
        value: ({ share }) => share,
        text: ({ share }) => formatPercent(share),
      },
    ];
    return [
      ...columns,
      ...(this.#rows === "prefixes" ? PREFIX_COLUMNS : this.#rows === "pieces" ? this.#pieceColumns() : []),
    ];
  }

  /** @returns {Column[]} */
  #pieceColumns() {
    const start = (/** @type {PathRow} */ { piece }) => piece?.start ?? 0;
    return [
      { name: "kind", title: "what it did", value: (row) => this.#titleOf(row) },
      {
        name: "worker",
        title: "worker",
        value: ({ piece }) => (piece?.worker == null ? "" : workerName(this.#context, piece.worker)),
      },
      {
        name: "start",
        title: "began",
        value: (row) => isoTime(start(row)),
        text: (row) => formatTime(start(row), 3),
      },
    ];
  }

  /** @param {PathRow} row */
  #titleOf({ kind }) {
    return this.#path.answer?.kinds.find((one) => one.kind === kind)?.title ?? "";
  }

  /** @param {PathRow} row */
  #nameCell({ name, kind, prefix }) {
    if (this.#rows === "prefixes" && prefix !== null) return prefixCell(name, prefix, this.#context.model);
    const swatch = element("i", "swatch");
    swatch.style.backgroundColor = kindColor(kind ?? "");
    return element("span", "", swatch, name);
  }
}

/** @type {Column[]} */
const PREFIX_COLUMNS = [
  { name: "parts", title: "parts", value: partsText, cell: ({ parts }) => stackedBar(parts) },
  {
    name: "slack",
    title: "slack",
    help: "How much longer any of its tasks could have taken without delaying the end",
    unit: "s",
    value: ({ slack }) => slack,
    text: ({ slack }) => (slack === null ? "" : slack === 0 ? "none" : formatDuration(slack)),
  },
];

/** @param {PathRow} row; for the CSV */
function partsText({ parts }) {
  return parts.map(({ title, seconds }) => `${title} ${seconds.toFixed(3)} s`).join("; ");
}
