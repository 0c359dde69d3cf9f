// The functions of a profile as a table, with their own and total samples.

import { formatCount } from "../../formatting.js";
import { element } from "../../element.js";
import { share, shortFile } from "./text.js";

/** @typedef {import("./tree.js").Usage} Usage */
/** @typedef {import("../../timeline/tiles/stacks.js").Code} Code */
/** @typedef {{row: HTMLTableRowElement, button: HTMLButtonElement, cells: HTMLTableCellElement[], of: Code|null}} Line */

const MOST = 25;
/** @type {{name: "own"|"total", title: string, help: string}[]} */
const COLUMNS = [
  { name: "own", title: "Own", help: "Samples that ended in the function itself" },
  { name: "total", title: "Total", help: "Samples in the function or its callees" },
];

/** Fires "choose" when a function is chosen, or no longer. */
export class FlameTable extends EventTarget {
  /** @type {Code|null} */
  chosen = null;
  table;
  /** @type {"own"|"total"} */
  #order = "own";
  #caption = element("caption", "");
  #body = element("tbody", "");
  #headings;
  #more = element("td", "");
  /** @type {Line[]} kept, so that a button that has the focus keeps it */
  #lines = [];
  /** @type {Usage[]} */
  #usages = [];
  #total = 0;

  constructor() {
    super();
    this.#headings = COLUMNS.map((column) => this.#heading(column));
    const head = element(
      "tr",
      "",
      element("th", "", "Function"),
      element("th", "", "File"),
      ...this.#headings,
    );
    this.#more.colSpan = 4;
    const foot = element("tfoot", "", element("tr", "", this.#more));
    this.table = element("table", "flame-table", this.#caption, element("thead", "", head), this.#body, foot);
  }

  /**
   * @param {Usage[]} usages
   * @param {number} total samples that are the whole
   * @param {string} title what the functions are of
   */
  show(usages, total, title) {
    this.#usages = usages;
    this.#total = total;
    this.#caption.textContent = title;
    this.table.hidden = !usages.length;
    this.#fill();
  }

  /** @param {Code|null} of */
  choose(of) {
    if (of?.id === this.chosen?.id) return;
    this.chosen = of;
    this.#fill();
    this.dispatchEvent(new Event("choose"));
  }

  #fill() {
    const order = this.#order;
    const other = order === "own" ? "total" : "own";
    const sorted = [...this.#usages].sort(
      (a, b) => b[order] - a[order] || b[other] - a[other] || a.of.id - b.of.id,
    );
    const shown = sorted.slice(0, MOST);
    while (this.#lines.length < shown.length) this.#lines.push(this.#line());
    this.#lines.forEach((line, at) => this.#write(line, shown[at]));
    const left = sorted.length - shown.length;
    this.#more.textContent = left > 0 ? `and ${formatCount(left)} more functions` : "";
    for (const [at, { name }] of COLUMNS.entries()) {
      this.#headings[at].setAttribute("aria-sort", name === order ? "descending" : "none");
    }
  }

  /**
   * @param {Line} line
   * @param {Usage|undefined} usage
   */
  #write(line, usage) {
    line.row.hidden = !usage;
    line.of = usage?.of ?? null;
    if (!usage) return;
    const [file, own, total] = line.cells;
    line.button.textContent = usage.of.name || "(no name)";
    line.button.setAttribute("aria-pressed", String(usage.of.id === this.chosen?.id));
    file.textContent = shortFile(usage.of.file);
    file.title = usage.of.file;
    own.textContent = share(usage.own, this.#total);
    total.textContent = share(usage.total, this.#total);
  }

  /** @returns {Line} */
  #line() {
    const button = element("button", "flame-function");
    button.type = "button";
    const cells = [element("td", "flame-file"), element("td", "number"), element("td", "number")];
    const row = element("tr", "", element("td", "", button), ...cells);
    /** @type {Line} */
    const line = { row, button, cells, of: null };
    button.addEventListener("click", () => this.choose(line.of?.id === this.chosen?.id ? null : line.of));
    this.#body.append(row);
    return line;
  }

  /** @param {typeof COLUMNS[number]} column */
  #heading({ name, title, help }) {
    const button = element("button", "", title);
    button.type = "button";
    button.title = help;
    button.addEventListener("click", () => {
      this.#order = name;
      this.#fill();
    });
    return element("th", "number", button);
  }
}
