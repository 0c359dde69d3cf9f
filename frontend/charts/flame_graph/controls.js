// The controls above a flame graph: source of the samples, search, heading, and the path to the zoomed frame.

import { element } from "../../element.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { nameOf } from "./text.js";

/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./tree.js").Wanted} Wanted */

const FILES = "files";
/** @type {[Exclude<Wanted["source"], "native">, string][]} */
const SOURCES = [
  ["tasks", "tasks"],
  ["workers", "workers' event loops"],
  ["scheduler", "scheduler's event loop"],
];
/** @type {Record<"tasks"|"native", string>} the stacks of tasks that Dask takes, and those of py-spy */
const STACKS = { tasks: "Python", native: "native" };
const MOST_CRUMBS = 3;

/** Fires "source", "search" and "zoom" (its detail the node) when the person wants something else. */
export class FlameControls extends EventTarget {
  bar;
  heading = element("p", "flame-heading");
  crumbs = element("nav", "flame-crumbs");
  #source;
  /** @type {"tasks"|"native"} */
  #stacks = "tasks";
  #search = element("input", "");
  #matched = element("output", "");
  #shown = "";

  constructor() {
    super();
    this.#source = element("select", "", ...SOURCES.map(([value, label]) => new Option(label, value)));
    this.#search.type = "search";
    this.#search.placeholder = "function or file";
    this.#search.maxLength = 200;
    const source = element("label", "", "Samples of ", this.#source);
    const search = element("label", "", "Find ", this.#search);
    const stacks = kindChoice("Stacks of tasks", STACKS, this.#stacks, (chosen) => {
      this.#stacks = chosen;
      this.dispatchEvent(new Event("source"));
    });
    stacks.title = "native: with the frames of C, Cython and Rust, from py-spy where the agent runs it";
    this.bar = element("div", "lane-controls flame-controls", source, stacks, search, this.#matched);
    this.crumbs.setAttribute("aria-label", "Zoomed into");
    this.#source.addEventListener("change", () => {
      stacks.hidden = this.#source.value !== "tasks";
      this.dispatchEvent(new Event("source"));
    });
    this.#search.addEventListener("input", () => this.dispatchEvent(new Event("search")));
  }

  /** Lets people choose the files that are attached to the run. */
  offerFiles() {
    this.#source.append(new Option("attached files", FILES));
  }

  get source() {
    const source = /** @type {Wanted["source"]} */ (this.#source.value);
    return source === "tasks" ? this.#stacks : source;
  }

  /** In lower case. */
  get searched() {
    return this.#search.value.trim().toLowerCase();
  }

  clearSearch() {
    this.#search.value = "";
  }

  /** @param {string} text */
  showMatched(text) {
    this.#matched.textContent = text;
  }

  /**
   * The frames around the one that is zoomed into, each a way back.
   * @param {Node} focus
   */
  showCrumbs(focus) {
    /** @type {Node[]} */
    const path = [];
    for (let node = focus.parent; node; node = node.parent) path.unshift(node);
    const shown = path.length > MOST_CRUMBS ? [path[0], null, ...path.slice(1 - MOST_CRUMBS)] : path;
    const content = JSON.stringify([...shown, focus].map((node) => node && nameOf(node)));
    this.#nodes = shown;
    if (content === this.#shown) return;
    this.#shown = content;
    this.crumbs.hidden = !path.length;
    const parts = shown.map((node, at) => (node ? this.#crumb(nameOf(node), at) : element("span", "", "…")));
    this.crumbs.replaceChildren(...parts, element("strong", "", nameOf(focus)));
  }

  /** @type {(Node|null)[]} */
  #nodes = [];

  /**
   * @param {string} name
   * @param {number} at
   */
  #crumb(name, at) {
    const button = element("button", "", name);
    button.type = "button";
    button.addEventListener("click", () => {
      this.dispatchEvent(new CustomEvent("zoom", { detail: this.#nodes[at] }));
    });
    return button;
  }
}
