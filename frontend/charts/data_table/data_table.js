// A table of rows that people sort by its headings, search and open. Its columns are declared once, for the page and as CSV.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { nameKey } from "../../name_order.js";

/** @typedef {import("../chart_menu/table.js").Cell} Cell */
/** @typedef {import("../chart_menu/table.js").Table} Table */

const FEW = 12; // rows that need no search
const STEP = 100; // rows, and as many more at each click
const BOUNDED_STEP = 40; // rows of a table that scrolls in itself, which has more before its end is reached
const NEAR_END = 200; // px

/**
 * `value` sorts, and is what the CSV has: a number in the unit of `unit`, a text, or null where it is unknown.
 * `text` is what people read; `cell` replaces it by an element.
 * @template Row
 * @typedef {{name: string, title: string, help?: string, unit?: string, value: (row: Row) => Cell,
 *   text?: (row: Row) => string, cell?: (row: Row) => Element|string}} Column
 */

/**
 * `key` identifies a row when the rows are replaced. `sorted` names the column that sorts until a heading is clicked, or chooses it by the rows. `find`: in what a search looks; `search` and `placeholder` name its field.
 * `step`: how many rows are shown at first, and added. `hint` of a row's name, instead of its value. `choose` is called when a row's first
 * cell is clicked. `open` makes what is below a row that was opened. A bounded table scrolls in itself where it is high.
 * @template Row
 * @typedef {{label: string, empty: string, key: (row: Row) => string|number, find?: (row: Row) => string,
 *   sorted?: string|((rows: readonly Row[]) => string), choose?: (row: Row) => void, isChosen?: (row: Row) => boolean, open?: (row: Row) => HTMLElement,
 *   search?: string, placeholder?: string, step?: number, hint?: (row: Row) => string, isBounded?: boolean}} Options
 */

/** @template Row */
export class DataTable {
  #columns;
  #options;
  #step;
  #search = element("input", "bars-search");
  #head = element("thead", "");
  #body = element("tbody", "");
  #note = element("p", "chart-empty");
  #more = element("button", "more");
  #table;
  /** @type {Row[]} */
  #rows = [];
  #message = "";
  /** @type {string|null} the column whose heading was clicked last */
  #clicked = null;
  #isReversed = false;
  #most;
  #isPressed = false;
  /** @type {Map<string|number, HTMLElement>} what opened rows show, by key */
  #opened = new Map();

  /**
   * @param {HTMLElement} parent
   * @param {Column<Row>[]} columns the first names the row
   * @param {Options<Row>} options
   */
  constructor(parent, columns, options) {
    this.#columns = columns;
    this.#options = options;
    this.#most = this.#step = options.step ?? (options.isBounded ? BOUNDED_STEP : STEP);
    this.#search.type = "search";
    this.#search.placeholder = options.placeholder ?? "search";
    this.#search.maxLength = 100;
    this.#search.setAttribute("aria-label", options.search ?? `Search ${options.label}`);
    this.#search.addEventListener("input", () => this.#render());
    this.#more.type = "button";
    this.#search.hidden = this.#more.hidden = true; // until there are rows
    this.#more.addEventListener("click", () => this.#showMore());
    this.#table = element("table", "data-table", this.#head, this.#body);
    this.#table.setAttribute("aria-label", options.label);
    this.#table.addEventListener("pointerdown", () => this.#press());
    const scroller = element("div", "data-table-scroller", this.#table);
    if (options.isBounded) {
      scroller.classList.add("is-bounded");
      scroller.tabIndex = 0; // so that the keyboard scrolls it
      scroller.setAttribute("role", "region");
      scroller.setAttribute("aria-label", `Table of ${options.label}`);
      scroller.addEventListener("scroll", () => {
        const left = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
        if (left < NEAR_END && !this.#more.hidden) this.#showMore();
      });
    }
    parent.append(this.#search, scroller, this.#note, this.#more);
  }

  /**
   * @param {Row[]} rows
   * @param {string} [message] why there are no rows, instead of the usual text
   */
  show(rows, message = "") {
    this.#rows = rows;
    this.#message = message;
    const keys = new Set(rows.map(this.#options.key));
    for (const key of this.#opened.keys()) if (!keys.has(key)) this.#opened.delete(key);
    this.#render();
  }

  /** @returns {Table} all rows, as they are sorted */
  table() {
    const columns = this.#columns.map(({ title, unit }) => (unit ? `${title} (${unit})` : title));
    return {
      columns,
      rows: this.#ordered(this.#rows).map((row) => this.#columns.map(({ value }) => value(row))),
    };
  }

  /** The name of the column that sorts, the greatest first. */
  get #sorted() {
    const { sorted = "" } = this.#options;
    return this.#clicked ?? (typeof sorted === "string" ? sorted : sorted(this.#rows));
  }

  /** Leaves the rows as they are until the pointer is released and what it clicked has heard of it. */
  #press() {
    this.#isPressed = true;
    const release = () =>
      setTimeout(() => {
        this.#isPressed = false;
        this.#render();
      });
    for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, release, { once: true });
  }

  #showMore() {
    this.#most += this.#step;
    this.#render();
  }

  #render() {
    if (this.#isPressed) return; // a click on a button that is replaced meanwhile would be lost
    const query = this.#search.value.trim().toLowerCase();
    const found = this.#ordered(query ? this.#rows.filter((row) => this.#matches(row, query)) : this.#rows);
    this.#search.hidden = !this.#options.find || (this.#rows.length <= FEW && !query);
    this.#note.textContent = found.length
      ? ""
      : this.#message || (query ? "Nothing matches." : this.#options.empty);
    this.#table.hidden = !found.length;
    this.#more.hidden = found.length <= this.#most;
    const rest = found.length - this.#most;
    this.#more.textContent = `Show ${formatCount(Math.min(this.#step, rest))} of ${formatCount(rest)} more`;
    const focused = this.#focused();
    this.#head.replaceChildren(element("tr", "", ...this.#columns.map((column) => this.#heading(column))));
    this.#body.replaceChildren(...found.slice(0, this.#most).flatMap((row) => this.#rowElements(row)));
    if (focused)
      (focused.isConnected ? focused : this.#buttons().find((button) => sameButton(button, focused)))?.focus({
        preventScroll: true,
      });
  }

  /** The buttons of the table itself, not of what its opened rows show. */
  #buttons() {
    return [...this.#table.querySelectorAll("button")].filter(
      (button) => button.closest("table") === this.#table,
    );
  }

  /** The element with the keyboard, if the table has it. */
  #focused() {
    const focused = /** @type {HTMLElement|null} */ (document.activeElement);
    return this.#table.contains(focused) ? focused : null;
  }

  /** @param {Row} row @param {string} query in lower case */
  #matches(row, query) {
    const text = this.#options.find?.(row).toLowerCase() ?? "";
    return query.split(/\s+/).every((word) => text.includes(word));
  }

  /**
   * Texts by the alphabet, numbers with the greatest first; unknown values come last.
   * @param {Row[]} rows
   */
  #ordered(rows) {
    const sorted = this.#sorted;
    const column = this.#columns.find(({ name }) => name === sorted);
    if (!column) return rows;
    const direction = this.#isReversed ? -1 : 1;
    return rows
      .map((row) => ({ row, value: sortable(column.value(row)) }))
      .sort(({ value: one }, { value: other }) => {
        if (one === null || other === null) return Number(one === null) - Number(other === null);
        if (typeof one === "number" && typeof other === "number") return direction * (other - one);
        return direction * (one < other ? -1 : Number(one > other));
      })
      .map(({ row }) => row);
  }

  /** @param {Column<Row>} column */
  #heading({ name, title, help, value }) {
    const isSorted = name === this.#sorted;
    const isText = this.#rows.length > 0 && typeof value(this.#rows[0]) === "string";
    const isDown = isText === this.#isReversed;
    const button = element("button", "", isSorted ? `${title} ${isDown ? "▾" : "▴"}` : title);
    button.type = "button";
    button.dataset.heading = name;
    if (help) button.title = help;
    button.addEventListener("click", () => {
      this.#isReversed = isSorted && !this.#isReversed;
      this.#clicked = name;
      this.#render();
    });
    const cell = element("th", isText ? "" : "number", button);
    cell.scope = "col";
    if (isSorted) cell.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    return cell;
  }

  /** @param {Row} row */
  #rowElements(row) {
    const key = this.#options.key(row);
    const [first, ...others] = this.#columns;
    const cells = others.map((column) => {
      const content = contentOf(column, row);
      return element("td", typeof column.value(row) === "string" ? "" : "number", content);
    });
    const shown = element("tr", "", this.#firstCell(first, row, key), ...cells);
    const details = this.#opened.get(key);
    if (!details) return [shown];
    const cell = element("td", "data-table-details", details);
    cell.colSpan = this.#columns.length;
    return [shown, element("tr", "", cell)];
  }

  /**
   * @param {Column<Row>} column
   * @param {Row} row
   * @param {string|number} key
   */
  #firstCell(column, row, key) {
    const { choose, isChosen, open, hint } = this.#options;
    const cell = element("th", "");
    cell.scope = "row";
    if (open) cell.append(this.#opener(row, key, open));
    if (!choose) {
      cell.append(contentOf(column, row));
      return cell;
    }
    const button = element("button", "row-name", contentOf(column, row));
    button.type = "button";
    button.dataset.row = String(key);
    button.title = hint ? hint(row) : String(column.value(row));
    if (isChosen) button.setAttribute("aria-pressed", String(isChosen(row)));
    button.addEventListener("click", () => {
      choose(row);
      this.#render();
    });
    cell.append(button);
    return cell;
  }

  /**
   * @param {Row} row
   * @param {string|number} key
   * @param {(row: Row) => HTMLElement} open
   */
  #opener(row, key, open) {
    const isOpen = this.#opened.has(key);
    const button = element("button", "row-opener", isOpen ? "▾" : "▸");
    button.type = "button";
    button.dataset.opens = String(key);
    button.setAttribute("aria-expanded", String(isOpen));
    button.setAttribute("aria-label", `Details of ${this.#columns[0].value(row)}`);
    button.addEventListener("click", () => {
      if (isOpen) this.#opened.delete(key);
      else this.#opened.set(key, open(row));
      this.#render();
    });
    return button;
  }
}

/** @param {string|number|null} value */
function sortable(value) {
  return typeof value === "string" ? nameKey(value) : value;
}

/**
 * @template Row
 * @param {Column<Row>} column
 * @param {Row} row
 */
function contentOf({ value, text, cell }, row) {
  if (cell) return cell(row);
  if (text && value(row) !== null) return text(row);
  const plain = value(row);
  return plain === null ? "–" : typeof plain === "number" ? formatCount(plain) : plain;
}

/**
 * Whether two buttons do the same: the rows and headings are made anew.
 * @param {HTMLElement} one
 * @param {HTMLElement} other
 */
function sameButton({ dataset: one }, { dataset: other }) {
  return one.heading === other.heading && one.row === other.row && one.opens === other.opens;
}
