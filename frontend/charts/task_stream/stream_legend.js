// The legend of the task stream: its prefixes, the busiest first, and what is not computing. A click on a prefix
// highlights it, a second one hides it, a third one shows it again; with Ctrl, ⌘ or Shift a click hides and shows. Of many
// prefixes the busiest have entries, the others one together, and a search finds each.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { chooseExactColors, hasExactColors } from "../drawing/color_choice.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Prefix} Prefix */

const [MOST, MOST_ON_A_PHONE, MOST_FOUND] = [12, 6, 40];
const OTHER_RUNS_HINT = "Only other runs submitted tasks of it.";
const HINT = "Click to highlight, click again to hide. Ctrl + click hides and shows.";
/** @type {Record<string, string>} */
const MEANINGS = {
  straggler: "It computed over five times as long as the median of its prefix",
  retried:
    "The task was computed before: it is retried after an error, or the worker with its result was lost",
  stolen: "Dask moved the task from a worker with much work to this one",
};
const OTHERS = ["transfer", "disk", "serialization", "erred", "straggler", "retried", "stolen"];

export class StreamLegend {
  list = element("ul", "legend stream-legend");
  #context;
  /** @type {Map<number, HTMLLIElement>} by prefix */
  #entries = new Map();
  #others;
  #rest = element("button", "");
  /** @type {number[]} prefixes without entries */
  #unlisted = [];
  #found = element("span", "");
  #search = element("input", "legend-search");
  #exact;
  #drawn = "";

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#rest.type = "button";
    this.#rest.title = "Click to hide or show them.";
    this.#rest.addEventListener("click", () => this.#toggleRest());
    this.#search.type = "search";
    this.#search.placeholder = "find a prefix";
    this.#search.setAttribute("aria-label", "Find a prefix");
    this.#search.maxLength = 100;
    this.#search.addEventListener("input", () => this.draw());
    this.#exact = element("input", "");
    this.#exact.type = "checkbox";
    this.#exact.addEventListener("change", () => chooseExactColors(this.#exact.checked));
    const choice = element("label", "", this.#exact, " Dask's exact colours");
    choice.title = "Dask's dashboards colour a prefix by a hash of its name, so two can look the same";
    const others = OTHERS.map((name) => {
      const entry = element("li", "", element("i", `mark-${name}`), name);
      entry.title = MEANINGS[name] ?? "";
      return entry;
    });
    this.#others = [
      element("li", "", this.#rest, this.#found),
      element("li", "", this.#search),
      ...others,
      element("li", "legend-choice", choice),
    ];
    this.draw();
  }

  /** Shows the prefixes as they are now. */
  draw() {
    const { model, selection } = this.#context;
    const query = this.#search.value.trim().toLowerCase();
    const most = query ? MOST_FOUND : window.innerWidth < 700 ? MOST_ON_A_PHONE : MOST;
    const drawn = `${model.version} ${selection.prefix} ${[...selection.hidden]} ${most} ${hasExactColors()} ${query}`;
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const all = [...model.prefixes.values()].sort(
      (one, other) =>
        Number(one.is_other ?? false) - Number(other.is_other ?? false) ||
        (other.seconds ?? 0) - (one.seconds ?? 0) ||
        one.id - other.id,
    );
    const found = query ? all.filter(({ name }) => name.toLowerCase().includes(query)) : all;
    const entries = found.slice(0, most).map((prefix) => this.#entry(prefix));
    const left = found.length - entries.length;
    this.#drawRest(
      found.slice(most).map(({ id }) => id),
      query !== "",
    );
    this.#found.textContent = !query
      ? ""
      : found.length
        ? left
          ? `and ${formatCount(left)} more`
          : ""
        : "no prefix has that in its name";
    this.#search.hidden = all.length <= most && !query;
    this.#exact.checked = hasExactColors();
    const items = [...entries, ...this.#others];
    const isSame =
      items.length === this.list.children.length &&
      items.every((item, place) => item === this.list.children[place]);
    if (!isSame) this.list.replaceChildren(...items);
  }

  /**
   * @param {number[]} unlisted ids
   * @param {boolean} isSearch
   */
  #drawRest(unlisted, isSearch) {
    const { hidden } = this.#context.selection;
    this.#unlisted = unlisted;
    this.#rest.hidden = isSearch || !unlisted.length;
    const areHidden = unlisted.length > 0 && unlisted.every((id) => hidden.has(id));
    const name = `others (${formatCount(unlisted.length)})`;
    this.#rest.textContent = name;
    this.#rest.setAttribute("aria-label", areHidden ? `${name}, hidden` : name);
    /** @type {HTMLElement} */ (this.#rest.parentElement).classList.toggle("is-hidden", areHidden);
  }

  #toggleRest() {
    const { selection } = this.#context;
    const unlisted = new Set(this.#unlisted);
    const others = [...selection.hidden].filter((id) => !unlisted.has(id));
    const areHidden = this.#unlisted.every((id) => selection.hidden.has(id));
    selection.hide(areHidden ? others : [...others, ...unlisted]);
  }

  /** @param {Prefix} prefix */
  #entry({ id, name, is_other }) {
    const { model, selection } = this.#context;
    const entry = this.#entries.get(id) ?? this.#create(id, name, is_other ?? false);
    const isHidden = selection.hidden.has(id);
    const button = /** @type {HTMLElement} */ (entry.firstChild);
    entry.classList.toggle("is-hidden", isHidden);
    button.setAttribute("aria-pressed", String(selection.prefix === id));
    button.setAttribute("aria-label", isHidden ? `${name}, hidden` : name);
    /** @type {HTMLElement} */ (button.firstChild).style.backgroundColor = model.color(id);
    return entry;
  }

  /**
   * @param {number} id
   * @param {string} name
   * @param {boolean} isOther
   */
  #create(id, name, isOther) {
    const button = element("button", "", element("i", ""), name);
    button.type = "button";
    button.title = `${name}\n${isOther ? `${OTHER_RUNS_HINT}\n` : ""}${HINT}`;
    button.addEventListener("click", (event) => {
      const { selection } = this.#context;
      if (event.ctrlKey || event.metaKey || event.shiftKey) selection.toggleHidden(id);
      else selection.cycle(id);
    });
    const entry = element("li", "", button);
    this.#entries.set(id, entry);
    return entry;
  }
}
