// A text field with suggestions: a combobox by WAI-ARIA.

import { element } from "../../element.js";

/**
 * A suggestion: `text` is the choice, `detail` is shown beside it, `group` above the first of a group.
 * @typedef {{text: string, detail?: string, group?: string, value: any}} Choice
 */

const PAUSE = 120; // ms after a key
const MOST_MOVED = 8; // px of the pointer between press and release; if it moves farther, nothing is chosen

export class Choices {
  #input;
  #list;
  #offer;
  #choose;
  /** @type {Choice[]} */
  #choices = [];
  #active = -1;
  #timer = 0;
  #query = 0;

  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} list empty; its id is that in the input's aria-controls
   * @param {(text: string) => Promise<Choice[]>|Choice[]} offer returns the suggestions for a text
   * @param {(choice: Choice) => void} choose
   */
  constructor(input, list, offer, choose) {
    this.#input = input;
    this.#list = list;
    this.#offer = offer;
    this.#choose = choose;
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", list.id);
    list.setAttribute("role", "listbox");
    this.close();
    input.addEventListener("focus", () => void this.#open());
    input.addEventListener("click", () => void this.#open());
    input.addEventListener("blur", () => this.close());
    input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => document.activeElement === input && void this.#open(), PAUSE);
    });
    input.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("pointerdown", (event) => this.#press(event));
    // of a program that reads the page out: it has no pointer
    list.addEventListener("click", (event) => this.#takePressed(event));
  }

  /**
   * Keeps the focus in the field, and the list as it is until the pointer is released. Then what was pressed is
   * chosen: an answer may have moved the page under the pointer meanwhile, and no click would follow.
   * @param {PointerEvent} event
   */
  #press(event) {
    event.preventDefault();
    clearTimeout(this.#timer);
    this.#query++;
    if (event.button !== 0) return;
    const release = (/** @type {PointerEvent} */ { clientX, clientY }) => {
      if (Math.hypot(clientX - event.clientX, clientY - event.clientY) <= MOST_MOVED)
        this.#takePressed(event);
    };
    window.addEventListener("pointerup", release, { once: true });
  }

  /** @param {Event} event */
  #takePressed(event) {
    const option = /** @type {HTMLElement} */ (event.target).closest("[data-index]");
    if (option instanceof HTMLElement && !this.#list.hidden) this.#take(Number(option.dataset.index));
  }

  close() {
    clearTimeout(this.#timer);
    this.#query++;
    this.#list.hidden = true;
    this.#active = -1;
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }

  async #open() {
    const query = ++this.#query;
    const choices = await this.#offer(this.#input.value.trim());
    if (query !== this.#query) return;
    this.#choices = choices;
    this.#active = -1;
    this.#list.replaceChildren(...this.#rows());
    this.#list.hidden = choices.length === 0;
    this.#input.setAttribute("aria-expanded", String(choices.length > 0));
  }

  #rows() {
    const rows = [];
    for (const [index, { text, detail, group }] of this.#choices.entries()) {
      if (group && group !== this.#choices[index - 1]?.group) {
        const heading = element("li", "choices-group", group);
        heading.setAttribute("role", "presentation");
        rows.push(heading);
      }
      const row = element("li", "choice", element("span", "choice-text", text));
      if (detail) row.append(element("span", "choice-detail", detail));
      row.id = `${this.#list.id}-${index}`;
      row.dataset.index = String(index);
      row.setAttribute("role", "option");
      rows.push(row);
    }
    return rows;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape" && !this.#list.hidden) {
      this.close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (this.#list.hidden) void this.#open();
      else this.#move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !this.#list.hidden) {
      this.#take(Math.max(this.#active, 0));
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {number} by */
  #move(by) {
    const count = this.#choices.length;
    this.#active = (this.#active + by + count + (this.#active < 0 && by < 0 ? 1 : 0)) % count;
    for (const row of this.#list.querySelectorAll("[role=option]")) {
      const active = row.id === `${this.#list.id}-${this.#active}`;
      row.setAttribute("aria-selected", String(active));
      if (active) row.scrollIntoView({ block: "nearest" });
    }
    this.#input.setAttribute("aria-activedescendant", `${this.#list.id}-${this.#active}`);
  }

  /** @param {number} index */
  #take(index) {
    const choice = this.#choices[index];
    if (choice) this.#choose(choice);
    this.close(); // after the choice, which may be typed into the field and would open the list again
  }
}
