// The matrix of transfers: a row for each sender, a column for each receiver. Hosts, where there are many workers.

import { element } from "../../element.js";
import { formatBytes, formatCount, formatCountOf, formatDuration } from "../../formatting.js";
import { shortName } from "../../timeline/slots.js";
import { Shown } from "../drawing/shown.js";
import { Surface, hatching } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";
import { isDarkTheme, shades, stops } from "../heat_map/colors.js";
import { MatrixLayout, logShade } from "./matrix_layout.js";
import { bandwidthOf, formatRate, missingText, partText, placeName } from "./names.js";
import { bySlot } from "./slot_pairs.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["TransferCell"]} Cell */
/** @typedef {import("../../types.js").Schemas["Transfers"]} Answer */
/** @typedef {"nbytes"|"bandwidth"|"count"} QuantityName */

/** @type {Record<QuantityName, {label: string, value: (cell: Cell) => number|null, text: (value: number) => string}>} */
const QUANTITIES = {
  nbytes: { label: "bytes", value: (cell) => (cell.unsized ? null : cell.nbytes), text: formatBytes },
  bandwidth: { label: "bandwidth", value: bandwidthOf, text: formatRate },
  count: { label: "number of transfers", value: ({ count }) => count, text: formatCount },
};
const FONT = "11px system-ui, sans-serif";
const LONGEST_NAME = 18; // characters

/** @type {Chart} */
export const transferMatrix = {
  name: "transfer-matrix",
  title: "Who sent to whom",
  place: "below",
  layers: [],
  help:
    "A row for each worker that sent, a column for each that received; with over fifty workers those of hosts. The stronger the colour, " +
    "the greater the value, on a logarithmic scale. Click a cell to select its receiver, with Shift its sender. With the keyboard: the arrow keys " +
    "and Enter.",
  create: (parent, context) => new TransferMatrix(parent, context),
};

class TransferMatrix {
  #parent;
  #context;
  #bar = element("div", "transfer-bar");
  #choice = element("select", "");
  #scale = element("span", "muted");
  #stage = element("div", "transfer-matrix");
  #surface;
  #tooltip;
  #text = element("p", "muted transfer-note");
  #note = element("p", "chart-empty");
  /** @type {QuantityName} */
  #quantity = "nbytes";
  #layout = new MatrixLayout(0, 0, 0);
  /** @type {Map<string, Cell>} by "sender receiver" */
  #cells = new Map();
  /** @type {import("../../types.js").Schemas["TransferPlace"][]} rows, and columns */
  #places = [];
  /** @type {string[]} of the places */
  #names = [];
  /** @type {{row: number, column: number}|null} the cell under the mouse, or of the keyboard */
  #at = null;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    for (const [name, { label }] of Object.entries(QUANTITIES)) this.#choice.append(new Option(label, name));
    this.#choice.addEventListener("change", () => {
      this.#quantity = /** @type {QuantityName} */ (this.#choice.value);
      this.#paint();
    });
    this.#bar.append(element("label", "", "colour ", this.#choice), this.#scale);
    parent.append(this.#bar, this.#stage, this.#text, this.#note);
    this.#surface = new Surface(this.#stage, transferMatrix.title);
    this.#tooltip = new Tooltip(this.#stage);
    this.#text.setAttribute("aria-live", "polite");
    this.#stage.tabIndex = 0;
    this.#stage.setAttribute("role", "application");
    this.#stage.setAttribute(
      "aria-label",
      "Matrix of transfers: the arrow keys go from pair to pair, Enter selects the receiver, with Shift the sender",
    );
    this.#stage.addEventListener("pointermove", (event) => this.#point(this.#cellOf(event)));
    this.#stage.addEventListener("pointerleave", () => this.#point(null));
    this.#stage.addEventListener("blur", () => this.#point(null));
    this.#stage.addEventListener("click", (event) => this.#select(this.#cellOf(event), event.shiftKey));
    this.#stage.addEventListener("keydown", (event) => this.#press(event));
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { selection, model } = this.#context;
    const transfers = this.#context.features.of(Transfers);
    transfers.show(view, selection.worker);
    if (
      !this.#shown.changes(
        transfers.answer,
        transfers.message,
        selection.worker,
        model.version,
        this.#parent.clientWidth,
        isDarkTheme(),
      )
    )
      return;
    this.#paint();
  }

  table() {
    const places = this.#places.map((_, place) => place);
    const rows = places.map((row) => [
      this.#names[row],
      ...places.map((column) => this.#valueAt(row, column) ?? null),
    ]);
    return {
      columns: [`sender (${QUANTITIES[this.#quantity].label})`, ...this.#names],
      rows,
      note: partText(this.#context),
    };
  }

  /** @returns {Answer|null} */
  get #answer() {
    return this.#context.features.of(Transfers).answer;
  }

  #paint() {
    const missing = missingText(this.#context);
    const answer = missing ? null : this.#answer;
    for (const part of [this.#bar, this.#stage, this.#text]) part.hidden = answer === null;
    this.#note.textContent = missing || partText(this.#context);
    this.#note.hidden = !this.#note.textContent;
    const nameOf = (/** @type {import("../../types.js").Schemas["TransferPlace"]} */ place) =>
      placeName(this.#context, place);
    const { places, cells } = bySlot(answer ?? { places: [], cells: [] }, this.#context.model, nameOf);
    this.#places = places;
    this.#cells = new Map(cells.map((cell) => [`${cell.sender} ${cell.receiver}`, cell]));
    this.#names = places.map(nameOf);
    if (this.#at && Math.max(this.#at.row, this.#at.column) >= places.length) this.#at = null;
    if (!answer) return;
    const { context } = this.#surface;
    context.font = FONT;
    const names = this.#names.map((name) => shortName(name, LONGEST_NAME));
    const longest = Math.max(...names.map((name) => context.measureText(name).width));
    this.#layout = new MatrixLayout(names.length, this.#parent.clientWidth, longest);
    this.#surface.clear(this.#layout.width, this.#layout.height);
    context.font = FONT;
    this.#drawCells();
    this.#drawNames(names);
    this.#drawFrame();
    const texts = [...this.#cells.values()]
      .map((cell) => this.#describe(cell.sender, cell.receiver))
      .slice(0, 5);
    this.#surface.canvas.setAttribute("aria-label", `${transferMatrix.title}: ${texts.join("; ")}`);
    this.#text.textContent = this.#at ? this.#describe(this.#at.row, this.#at.column) : totalText(answer);
  }

  #drawCells() {
    const { context } = this.#surface;
    const { size } = this.#layout;
    const colors = shades(stops(isDarkTheme()));
    const { text, value } = QUANTITIES[this.#quantity];
    const values = [...this.#cells.values()].flatMap((cell) => value(cell) ?? []).filter((one) => one > 0);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    this.#scale.textContent = !values.length
      ? ""
      : least === most
        ? text(most)
        : `from ${text(least)} (light) to ${text(most)}, logarithmic`;
    if (isDarkTheme() && values.length && least !== most)
      this.#scale.textContent = `from ${text(least)} (dark) to ${text(most)}, logarithmic`;
    context.fillStyle = theme().plot;
    const { left, top, side } = this.#layout;
    context.fillRect(left, top, side, side);
    for (const { sender, receiver } of this.#cells.values()) {
      const known = this.#valueAt(sender, receiver);
      const [x, y] = this.#layout.corner(sender, receiver);
      const [red, green, blue] = colors[logShade(known ?? 0, least, most, colors.length)];
      context.fillStyle = known === null ? hatching(context, theme().muted) : `rgb(${red} ${green} ${blue})`;
      context.fillRect(x, y, size - (size > 5 ? 1 : 0), size - (size > 5 ? 1 : 0));
    }
  }

  /** @param {string[]} names */
  #drawNames(names) {
    const { context } = this.#surface;
    const { left, top, size, isNamed } = this.#layout;
    const colors = theme();
    const { model, selection } = this.#context;
    const chosen = model.slotOf(selection.worker)?.key;
    context.textBaseline = "middle";
    names.forEach((name, place) => {
      const { worker } = this.#places[place];
      const isChosen = chosen !== undefined && model.slotOf(worker)?.key === chosen;
      if (!isNamed && !isChosen) return;
      context.fillStyle = isChosen ? colors.accent : colors.text;
      const [x, y] = this.#layout.corner(place, place);
      context.textAlign = "right";
      context.fillText(name, left - 6, y + size / 2);
      context.save();
      context.translate(x + size / 2, top - 6);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(name, 0, 0);
      context.restore();
    });
    context.fillStyle = colors.muted;
    context.textAlign = "right";
    context.fillText("from ↓  to →", left - 6, 8);
  }

  /** Marks the row and column of the selected worker, and the cell of the mouse or keyboard. */
  #drawFrame() {
    const { context } = this.#surface;
    const { left, top, size, side } = this.#layout;
    const { model, selection } = this.#context;
    const chosen = model.slotOf(selection.worker)?.key;
    context.strokeStyle = theme().accent;
    context.lineWidth = 1.5;
    this.#places.forEach(({ worker }, place) => {
      if (chosen === undefined || model.slotOf(worker)?.key !== chosen) return;
      const [x, y] = this.#layout.corner(place, place);
      context.strokeRect(left - 1, y - 1, side + 1, size + 1);
      context.strokeRect(x - 1, top - 1, size + 1, side + 1);
    });
    if (!this.#at) return;
    const [x, y] = this.#layout.corner(this.#at.row, this.#at.column);
    context.strokeStyle = theme().text;
    context.strokeRect(x - 1, y - 1, size + 1, size + 1);
  }

  /** @param {number} row @param {number} column @returns {number|null|undefined} null: unknown; undefined: nothing moved */
  #valueAt(row, column) {
    const cell = this.#cells.get(`${row} ${column}`);
    return cell && QUANTITIES[this.#quantity].value(cell);
  }

  /** @param {number} row @param {number} column */
  #describe(row, column) {
    const lines = this.#lines(row, column).map(([name, value]) => `${name} ${value}`);
    return `${this.#names[row]} → ${this.#names[column]}: ${lines.join(", ") || "nothing"}`;
  }

  /** @param {number} row @param {number} column @returns {[string, string][]} */
  #lines(row, column) {
    const cell = this.#cells.get(`${row} ${column}`);
    if (!cell) return [];
    const rate = bandwidthOf(cell);
    return [
      ["moved", cell.unsized === cell.count ? "unknown" : formatBytes(cell.nbytes)],
      ["in", formatCountOf(cell.count, "transfer")],
      ["took", formatDuration(cell.seconds)],
      ["bandwidth", rate === null ? "unknown" : formatRate(rate)],
    ];
  }

  /** @param {MouseEvent} event */
  #cellOf(event) {
    const { left, top } = this.#surface.canvas.getBoundingClientRect();
    return this.#layout.cellAt(event.clientX - left, event.clientY - top);
  }

  /** @param {{row: number, column: number}|null} at */
  #point(at) {
    if (at?.row === this.#at?.row && at?.column === this.#at?.column) return;
    this.#at = at;
    this.#paint();
    if (!at) return this.#tooltip.hide();
    const [x, y] = this.#layout.corner(at.row, at.column);
    const lines = this.#lines(at.row, at.column);
    this.#tooltip.show(
      x + this.#layout.size,
      y,
      `${this.#names[at.row]} → ${this.#names[at.column]}`,
      lines.length ? lines : [["nothing moved", ""]],
    );
  }

  /**
   * @param {{row: number, column: number}|null} at
   * @param {boolean} isSender
   */
  #select(at, isSender) {
    if (!at) return;
    const { model, selection } = this.#context;
    const { worker } = this.#places[isSender ? at.row : at.column];
    if (worker === null) return;
    const isChosen = model.slotOf(worker)?.key === model.slotOf(selection.worker)?.key;
    selection.set({ worker: isChosen ? null : worker });
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const step = STEPS[event.key];
    if (step && this.#names.length) {
      const { row, column } = this.#at ?? { row: 0, column: 0 };
      const last = this.#names.length - 1;
      const within = (/** @type {number} */ place) => Math.min(Math.max(place, 0), last);
      this.#point(
        this.#at ? { row: within(row + step[0]), column: within(column + step[1]) } : { row, column },
      );
    } else if (event.key === "Enter") this.#select(this.#at, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @type {Record<string, [number, number]>} rows and columns */
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** @param {Answer} answer */
function totalText({ total }) {
  const rate = bandwidthOf(total);
  const known = total.count - total.unsized;
  const speed = rate === null ? "" : `, ${formatRate(rate)} on average`;
  return `${formatBytes(total.nbytes)} in ${formatCountOf(known, "transfer")}${speed}.`;
}
