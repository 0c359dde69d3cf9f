// The track of attached profiles and traces: a row for each thread, coloured by what ran on it.

import { formatDuration } from "../../formatting.js";
import { newest, workerLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { isoTime } from "../chart_menu/table.js";
import { fileColor } from "../drawing/palette.js";
import { Surface, fitText } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";
import { shortFile } from "../flame_graph/text.js";
import { rowsOf } from "./rows.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./rows.js").Piece} Piece */

const ATTACHED = "/attached-profiles";
const [ROW, BAR] = [20, 15]; // px
const FONT = "11px system-ui, sans-serif";
const TEXT_COLOR = "#1b1f27"; // on the colours of files
const NARROWEST = 24; // px of a piece with a text

/** @type {Chart} */
export const attachedFiles = {
  name: "attached-files",
  title: "Attached profiles and traces",
  place: "timeline",
  layers: [],
  answers: [ATTACHED],
  part: "code",
  help:
    "Files of py-spy, viztracer and others that people attached to the run: a row for each thread, coloured by the file of the function " +
    "that ran for most of the time. Click a row to select its worker; “Samples of attached files” shows them as a flame graph. " +
    "The page Attach of the run shifts them.",
  isThere: ({ info }) => (info.attached_files ?? 0) > 0,
  create: (element, context) => new AttachedFiles(element, context),
};

class AttachedFiles {
  #element;
  #context;
  #surface;
  #tooltip;
  #note = document.createElement("p");
  /** @type {Row[]} */
  #rows = [];
  /** @type {unknown} what the rows are made of */
  #made = null;
  /** @type {View|null} */
  #view = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#element = parent;
    this.#context = context;
    this.#surface = new Surface(parent, attachedFiles.title);
    this.#note.className = "chart-empty";
    parent.append(this.#note);
    this.#tooltip = new Tooltip(parent);
    const { canvas } = this.#surface;
    canvas.addEventListener("pointermove", (event) => this.#hover(event));
    canvas.addEventListener("pointerleave", () => this.#tooltip.hide());
    canvas.addEventListener("click", (event) => this.#click(event));
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    const attached = this.#context.answers[ATTACHED];
    attached.update(view);
    if (attached.answer !== this.#made) this.#rows = attached.answer ? rowsOf(attached.answer) : [];
    this.#made = attached.answer;
    this.#note.textContent =
      attached.message || (this.#rows.length ? "" : "No attached file lies in this window.");
    const left = leftGutter();
    this.#surface.clear(left + view.width + RIGHT_GUTTER, Math.max(this.#rows.length, 1) * ROW);
    const { context, canvas } = this.#surface;
    context.font = FONT;
    context.textBaseline = "middle";
    this.#rows.forEach((row, place) => this.#drawRow(row, place * ROW + ROW / 2, [left, left + view.width]));
    canvas.setAttribute(
      "aria-label",
      `Attached profiles and traces: ${this.#rows.map((row) => this.#nameOf(row)).join(", ") || "none here"}`,
    );
  }

  get summary() {
    const files = new Set(this.#rows.map(({ file }) => file.id));
    return files.size ? [...new Set(this.#rows.map(({ file }) => file.name))].join(", ") : "";
  }

  table() {
    return {
      columns: ["file", "process", "thread", "worker", "from (UTC)", "to (UTC)", "seconds in the window"],
      rows: this.#rows.map(({ file, thread }) => [
        file.name,
        thread.process,
        thread.name,
        this.#workerOf(thread.worker),
        isoTime(file.start),
        isoTime(file.stop),
        thread.seconds,
      ]),
    };
  }

  /** @param {number|null} worker id @returns {string} "" where it isn't known */
  #workerOf(worker) {
    const slot = this.#context.model.slotOf(worker);
    return slot ? workerLabel(newest(slot)) : "";
  }

  /** @param {Row} row */
  #nameOf({ thread }) {
    const worker = this.#workerOf(thread.worker);
    return [worker || thread.process, thread.name].filter(Boolean).join(" · ") || "thread";
  }

  /**
   * @param {Row} row
   * @param {number} middle px
   * @param {[number, number]} range px of the plot
   */
  #drawRow(row, middle, [left, right]) {
    const { context } = this.#surface;
    const colors = theme();
    context.fillStyle = colors.muted;
    context.textAlign = "right";
    context.fillText(fitText(context, this.#nameOf(row), left - 12, true), left - 8, middle);
    context.textAlign = "start";
    const [from, to] = [row.file.start, row.file.stop].map((time) =>
      Math.min(Math.max(this.#x(time), left), right),
    );
    context.fillStyle = colors.plot;
    context.fillRect(from, middle - BAR / 2, to - from, BAR);
    for (const piece of row.pieces) {
      const [begin, end] = [Math.max(this.#x(piece.start), left), Math.min(this.#x(piece.stop), right)];
      if (end <= begin) continue;
      context.fillStyle = fileColor(piece.file);
      context.fillRect(begin, middle - BAR / 2, Math.max(end - begin, 0.5), BAR);
      if (end - begin < NARROWEST) continue;
      context.fillStyle = TEXT_COLOR;
      const text = fitText(context, piece.name, end - begin - 6);
      if (text) context.fillText(text, begin + 3, middle);
    }
  }

  /** @param {number} time */
  #x(time) {
    const { start, stop, width } = /** @type {View} */ (this.#view);
    return leftGutter() + ((time - start) / (stop - start)) * width;
  }

  /** @param {MouseEvent} event */
  #locate(event) {
    const { left, top } = this.#surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return { x, y, row: this.#rows[Math.floor(y / ROW)] ?? null };
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const { x, y, row } = this.#locate(event);
    const piece = row?.pieces.find(({ start, stop }) => this.#x(start) <= x && x < this.#x(stop));
    this.#surface.canvas.style.cursor = row?.thread.worker ? "pointer" : "";
    if (!row || x < leftGutter()) return this.#tooltip.hide();
    /** @type {[string, string, string?][]} */
    const lines = [
      ["file", row.file.name],
      ["thread", this.#nameOf(row)],
    ];
    if (piece) {
      lines.unshift(["at", shortFile(piece.file), fileColor(piece.file)]);
      lines.push(["from", `${formatTime(piece.start, 3)}, ${formatDuration(piece.stop - piece.start)}`]);
    }
    this.#tooltip.show(x, y, piece ? piece.name || "unnamed function" : "nothing ran", lines);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const worker = this.#locate(event).row?.thread.worker ?? null;
    if (worker === null) return;
    const { selection } = this.#context;
    selection.set({ worker: selection.worker === worker ? null : worker });
  }
}
