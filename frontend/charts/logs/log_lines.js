// The log lines of the window, in order of time, with the place of the playhead. A click on a line moves the playhead.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { LEVEL_NAMES, knownLevel } from "../../timeline/log_levels.js";
import { LogOptions } from "./options.js";
import { formatDate, formatTime } from "../../timeline/times.js";
import { isoTime } from "../chart_menu/table.js";
import { emptyLogs } from "./empty_logs.js";
import { LogFilter } from "./log_filter.js";
import { LogPages } from "./log_pages.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./log_pages.js").LogLine} LogLine */
/** @typedef {import("./log_pages.js").Side} Side */

const LONGEST = 300; // characters of a message that are shown before it is opened
const COLUMNS = ["time (UTC)", "level", "process", "worker", "pid", "logger", "message", "traceback"];
const STEPS = /** @type {Record<string, number>} */ ({
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: -Infinity,
  End: Infinity,
});

/** @type {Chart} */
export const logLines = {
  name: "logs",
  title: "Logs",
  place: "below",
  part: "logs",
  layers: [],
  options: [LogOptions],
  help:
    "What the scheduler, the workers and their nannies logged in the window, dead or alive. A click on a line moves the playhead to it, " +
    "and one on a worker's name selects the worker; ↑ and ↓ go from line to line, Enter moves the playhead. The line of the playhead is " +
    "marked. Of a live window the newest lines are appended. `dask-observatory logs` prints the same.",
  create: (parent, context) => new LogLines(parent, context),
};

class LogLines {
  #parent;
  #context;
  #pages;
  #filter;
  #older = element("button", "more log-more", "Older lines");
  #newer = element("button", "more log-more", "Newer lines");
  #body = element("tbody", "");
  #scroller;
  #note = element("p", "chart-empty");
  #mark = element("tr", "log-playhead");
  #markText = element("td", "");
  /** @type {Map<string, HTMLTableRowElement>} by id of the line */
  #rows = new Map();
  /** @type {string|null} id of the line that ↑ and ↓ go from */
  #current = null;
  /** @type {number|null} the playhead that the list was scrolled to */
  #shownAt = null;
  /** @type {View|null} */
  #view = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#pages = new LogPages(context);
    this.#filter = new LogFilter(context);
    this.#markText.colSpan = 4;
    this.#mark.append(this.#markText);
    const heads = ["Time", "Level", "Process", "Message"].map((title) => element("th", "", title));
    const table = element(
      "table",
      "log",
      element("thead", "hidden", element("tr", "", ...heads)),
      this.#body,
    );
    table.setAttribute("aria-label", "Log lines");
    this.#scroller = element("div", "log-scroller", this.#older, table, this.#newer);
    for (const [button, side] of /** @type {[HTMLButtonElement, Side][]} */ ([
      [this.#older, "older"],
      [this.#newer, "newer"],
    ])) {
      button.type = "button";
      button.addEventListener("click", () => void this.#extend(side));
    }
    this.#pages.addEventListener("change", () => this.#render());
    this.#body.addEventListener("click", (event) => this.#click(event));
    this.#body.addEventListener("keydown", (event) => this.#press(event));
    parent.append(this.#filter.bar, this.#scroller, this.#note);
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#pages.stop();
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    this.#filter.update();
    this.#pages.update(view);
    this.#placeMark();
  }

  table() {
    const rows = this.#pages.lines.map((line) => {
      const { time, level, role, name, pid, logger, message, traceback } = line;
      return [isoTime(time), LEVEL_NAMES[knownLevel(level)], role, name, pid, logger, message, traceback];
    });
    const { older, newer } = this.#pages.more;
    const note = older || newer ? "Only the lines that are loaded: there are more in the window." : "";
    return { columns: COLUMNS, rows, note };
  }

  /** @param {Side} side */
  async #extend(side) {
    const before = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    await this.#pages.extend(side);
    if (side === "older") this.#scroller.scrollTop = this.#scroller.scrollHeight - before; // the lines in sight stay there
  }

  #render() {
    const { lines, more, stopped, message, files } = this.#pages;
    const read = files && `, ${files.replace("/", " of ")} archived files`;
    const isAtEnd = this.#scroller.scrollTop + this.#scroller.clientHeight >= this.#scroller.scrollHeight - 4;
    const known = this.#rows;
    this.#rows = new Map(lines.map((line) => [line.id, known.get(line.id) ?? this.#row(line)]));
    this.#body.replaceChildren(...this.#rows.values());
    this.#note.hidden = lines.length > 0 && !message;
    this.#note.textContent = message || emptyLogs(this.#context);
    for (const [button, side] of /** @type {[HTMLButtonElement, Side][]} */ ([
      [this.#older, "older"],
      [this.#newer, "newer"],
    ])) {
      button.hidden = more[side] === null;
      const until = stopped[side];
      button.textContent =
        until === null
          ? `${side === "older" ? "Older" : "Newer"} lines`
          : `Searched to ${formatTime(until, 0)}${read}: search on`;
    }
    if (!this.#rows.has(this.#current ?? "")) this.#setCurrent(lines[0]?.id ?? null);
    this.#shownAt = isAtEnd && this.#view?.live ? null : this.#shownAt;
    this.#placeMark();
  }

  /** Marks where the playhead is among the lines, and scrolls there when it has moved. */
  #placeMark() {
    const view = this.#view;
    const { lines } = this.#pages;
    if (!view || !lines.length) return;
    const next = lines.find(({ time }) => time > view.playhead);
    const row = (next && this.#rows.get(next.id)) ?? null;
    this.#markText.textContent = `▸ playhead ${formatTime(view.playhead, 3)}`;
    this.#mark.hidden = view.live;
    if (this.#mark.nextSibling !== row || this.#mark.parentElement !== this.#body)
      this.#body.insertBefore(this.#mark, row);
    if (view.live) {
      if (this.#shownAt === null) this.#scroller.scrollTop = this.#scroller.scrollHeight;
      this.#shownAt = view.playhead;
    } else if (this.#shownAt !== view.playhead) {
      this.#shownAt = view.playhead;
      this.#showMark();
    }
  }

  #showMark() {
    const { scrollTop, clientHeight } = this.#scroller;
    const top = this.#mark.offsetTop;
    if (top >= scrollTop && top + this.#mark.offsetHeight <= scrollTop + clientHeight) return;
    this.#scroller.scrollTop = top - clientHeight / 2;
  }

  /** @param {LogLine} line */
  #row(line) {
    const { time, level, role, name, pid, logger, id } = line;
    const at = element("button", "log-at", formatTime(time, 3));
    at.type = "button";
    at.tabIndex = -1;
    at.title = `Move the playhead to ${formatDate(time)}`;
    const known = LEVEL_NAMES[knownLevel(level)];
    const process = element("td", "log-process", `${role} `);
    process.title = pid === null ? "" : `process ${pid}`;
    if (name) process.append(this.#workerButton(line));
    const row = element(
      "tr",
      `level-${known}`,
      element("td", "log-time", at),
      element("td", "log-level", known),
      process,
      element("td", "log-message", element("span", "log-logger", logger), " ", ...textOf(line)),
    );
    row.dataset.line = id;
    return row;
  }

  /** @param {LogLine} line */
  #workerButton({ worker, name }) {
    const { selection } = this.#context;
    const button = element("button", "log-worker", name.replace(/^\w+:\/\//, ""));
    button.type = "button";
    button.tabIndex = -1;
    button.title = "Select the worker";
    button.addEventListener("click", () =>
      selection.set({ worker: selection.worker === worker ? null : worker }),
    );
    return button;
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const row = /** @type {HTMLElement|null} */ (target.closest("tr[data-line]"));
    if (!row || target.closest("details, .log-worker")) return;
    if (getSelection()?.toString()) return; // a text was marked to be copied
    this.#setCurrent(row.dataset.line ?? null);
    this.#go(row.dataset.line);
  }

  /** @param {string|undefined} id */
  #go(id) {
    const line = this.#pages.lines.find((one) => one.id === id);
    if (!line) return;
    this.#shownAt = line.time; // it is in sight already
    this.#context.timeline.jump(line.time);
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { lines } = this.#pages;
    const place = lines.findIndex(({ id }) => id === this.#current);
    const next = lines[Math.min(Math.max(place + step, 0), lines.length - 1)];
    if (!next) return;
    this.#setCurrent(next.id);
    this.#button(next.id)?.focus();
  }

  /** @param {string|null} id: the one line that Tab leads to */
  #setCurrent(id) {
    for (const [one, index] of /** @type {[string|null, number][]} */ ([
      [this.#current, -1],
      [id, 0],
    ])) {
      const row = this.#rows.get(one ?? "");
      for (const button of row?.querySelectorAll("button") ?? []) button.tabIndex = index;
    }
    this.#current = id;
  }

  /** @param {string} id @returns {HTMLButtonElement|null} */
  #button(id) {
    return this.#rows.get(id)?.querySelector(".log-at") ?? null;
  }
}

/**
 * The beginning of the message in one line; where it is long or has several lines, all of it opens, with the traceback.
 * @param {LogLine} line
 */
function textOf({ message, traceback }) {
  const whole = message.trim();
  const start = whole.slice(0, LONGEST).replace(/\s*\n\s*/g, " ⏎ ");
  const text = element("span", "log-text", start);
  const isCut = whole.length > LONGEST || whole.includes("\n");
  if (!isCut && !traceback) return [text];
  const pieces = [
    isCut && `message of ${formatCount(whole.length)} characters`,
    traceback && "traceback",
  ].filter(Boolean);
  return [
    text,
    element(
      "details",
      "",
      element("summary", "", pieces.join(", ")),
      element("pre", "", [isCut && whole, traceback].filter(Boolean).join("\n\n")),
    ),
  ];
}
