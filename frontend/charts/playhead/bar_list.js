// A list of names and counts with a bar each, for the state at the playhead. A long one can be searched.

import { element } from "../../element.js";

/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").State} State */

/**
 * A part of a bar: `share` of the bar's full width (0 to 1), `title` its tooltip. Without a colour it has the text's;
 * an erred one has stripes.
 * @typedef {{share: number, title: string, color?: string, faint?: boolean, erred?: boolean}} BarPart
 * @typedef {{name: string, value: string, parts: BarPart[]}} BarRow
 * `isCut`: there are more rows than are shown, so a search is offered; `barsOf` gets what is searched for.
 * @typedef {{rows: BarRow[], note?: string, isCut?: boolean}} Bars
 * @typedef {import("../chart_menu/table.js").Table} Table
 */

export class BarList {
  #element;
  #model;
  #barsOf;
  #empty;
  #tableOf;
  #list;
  #search = element("input", "bars-search");
  #note = element("p", "chart-empty");
  /** @type {State|null} */
  #state = null;
  #version = -1;
  #drawn = "";

  /**
   * @param {HTMLElement} parent
   * @param {string} name the list's class
   * @param {(state: State, query: string) => Bars} barsOf
   * @param {string} empty text for a state without rows
   * @param {import("../../timeline/model.js").Model} model whose colours the bars have
   * @param {(state: State) => Table} tableOf
   */
  constructor(parent, name, barsOf, empty, model, tableOf) {
    this.#tableOf = tableOf;
    this.#model = model;
    this.#element = parent;
    this.#barsOf = barsOf;
    this.#empty = empty;
    this.#list = element("dl", `bars ${name}`);
    this.#search.type = "search";
    this.#search.placeholder = "find a name";
    this.#search.setAttribute("aria-label", "Find a name");
    this.#search.maxLength = 100;
    this.#search.hidden = true;
    this.#search.addEventListener("input", () => this.#show());
    parent.append(this.#search, this.#list, this.#note);
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** @returns {Table} */
  table() {
    return this.#state ? this.#tableOf(this.#state) : { columns: [], rows: [] };
  }

  /** @param {View} view */
  draw({ state }) {
    if (!state || (state === this.#state && this.#version === this.#model.version)) return;
    this.#state = state;
    this.#version = this.#model.version;
    this.#show();
  }

  #show() {
    if (!this.#state) return;
    const query = this.#search.value.trim().toLowerCase();
    const bars = this.#barsOf(this.#state, query);
    this.#search.hidden = !bars.isCut && !query;
    const content = JSON.stringify(bars);
    if (content === this.#drawn) return;
    this.#drawn = content;
    this.#list.hidden = bars.rows.length === 0;
    this.#list.replaceChildren(...bars.rows.map(rowElement));
    this.#note.textContent = bars.rows.length
      ? (bars.note ?? "")
      : query
        ? "No name has that in it."
        : this.#empty;
  }
}

/** @param {BarRow} row */
function rowElement({ name, value, parts }) {
  const term = element("dt", "", name);
  term.title = name;
  const bar = element("span", "bar", ...parts.filter((part) => part.share > 0).map(partElement));
  bar.setAttribute("aria-hidden", "true");
  return element("div", "bars-row", term, element("dd", "", element("span", "bar-value", value), bar));
}

/** @param {BarPart} part */
function partElement({ share, title, color, faint, erred }) {
  const made = element("i", faint ? "is-faint" : erred ? "mark-erred" : "");
  made.style.width = `${share * 100}%`;
  if (color) made.style.backgroundColor = color;
  made.title = title;
  return made;
}
