// The field that finds nodes of the graph by a part of their name.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";

const MOST_FOUND = 200; // tasks or groups that a search marks

/** Dispatches `found` when other nodes are found, and `go` when the next of them is wished. */
export class NodeSearch extends EventTarget {
  field = element("input", "");
  count = element("span", "muted");
  /** @type {number[]} in the order of the names */
  found = [];
  #at = -1;
  /** @type {string[]} */
  #names = [];

  constructor() {
    super();
    Object.assign(this.field, { type: "search", placeholder: "find in the graph", maxLength: 500 });
    this.field.setAttribute("aria-label", "Find nodes by a part of their name; Enter goes to the next");
    this.field.addEventListener("input", () => this.#search());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !this.found.length) return;
      this.#at = (this.#at + 1) % this.found.length;
      this.dispatchEvent(new CustomEvent("go", { detail: this.found[this.#at] }));
    });
  }

  /** @param {string[]} names of the nodes */
  searchIn(names) {
    this.#names = names;
    this.#search();
  }

  #search() {
    const text = this.field.value.trim().toLowerCase();
    const found = text
      ? this.#names.flatMap((name, node) => (name.toLowerCase().includes(text) ? [node] : []))
      : [];
    this.found = found.slice(0, MOST_FOUND);
    this.#at = -1;
    this.count.textContent = text ? `${formatCount(found.length)} found` : "";
    this.dispatchEvent(new Event("found"));
  }
}
