// The legend of the task stream: its prefixes, the busiest first, and what is not computing. A click on a prefix
// highlights it, a second one hides it, a third one shows it again; with Ctrl, ⌘ or Shift a click hides and shows.

import { element } from "../../element.js";
import { chooseExactColors, hasExactColors } from "../drawing/color_choice.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Prefix} Prefix */

const [MOST, MOST_ON_A_PHONE] = [12, 6];
const HINT = "Click to highlight, click again to hide. Ctrl + click hides and shows.";
/** @type {Record<string, string>} */
const MEANINGS = {
  straggler: "It computed over five times as long as the median of its prefix",
  retried: "The task was computed before: it is retried after an error, or the worker with its result was lost",
  stolen: "Dask moved the task from a worker with much work to this one",
};
const OTHERS = ["transfer", "disk", "serialization", "erred", "straggler", "retried", "stolen"];

export class StreamLegend {
  list = element("ul", "legend stream-legend");
  #context;
  /** @type {Map<number, HTMLLIElement>} by prefix */
  #entries = new Map();
  #others;
  #more;
  #exact;
  #isWhole = false;
  #drawn = "";

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#more = element("button", "");
    this.#more.type = "button";
    this.#more.addEventListener("click", () => {
      this.#isWhole = !this.#isWhole;
      this.draw();
    });
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
    this.#others = [element("li", "", this.#more), ...others, element("li", "legend-choice", choice)];
    this.draw();
  }

  /** Shows the prefixes as they are now. */
  draw() {
    const { model, selection } = this.#context;
    const most = this.#isWhole ? Infinity : window.innerWidth < 700 ? MOST_ON_A_PHONE : MOST;
    const drawn = `${model.version} ${selection.prefix} ${[...selection.hidden]} ${most} ${hasExactColors()}`;
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const all = [...model.prefixes.values()].sort((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0) || one.id - other.id);
    const entries = all.slice(0, most).map((prefix) => this.#entry(prefix));
    this.#more.textContent = this.#isWhole ? "fewer" : `and ${all.length - entries.length} more`;
    this.#more.hidden = !this.#isWhole && all.length === entries.length;
    this.#exact.checked = hasExactColors();
    const items = [...entries, ...this.#others];
    const isSame = items.length === this.list.children.length && items.every((item, place) => item === this.list.children[place]);
    if (!isSame) this.list.replaceChildren(...items);
  }

  /** @param {Prefix} prefix */
  #entry({ id, name }) {
    const { model, selection } = this.#context;
    const entry = this.#entries.get(id) ?? this.#create(id, name);
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
   */
  #create(id, name) {
    const button = element("button", "", element("i", ""), name);
    button.type = "button";
    button.title = `${name}\n${HINT}`;
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
