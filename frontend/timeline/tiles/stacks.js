// The stacks of profiles by id. They never change, so each is fetched once.

import { MAXIMUM_STACKS } from "../../contract.js";
import { decode } from "./blocks.js";

/**
 * @typedef {{id: number, name: string, file: string}} Code a function of the cluster's code; ids are of this page
 * @typedef {{of: Code, line: number}} Frame
 */

const MOST_FRAMES = 3_000_000; // of all stacks: then what is kept is forgotten
const RETRY = 3000; // ms
const UNKNOWN = "unknown stack\t\t0";

/** Fires "change" when stacks have arrived, or a request failed. */
export class Stacks extends EventTarget {
  #source;
  /** @type {Map<number, Frame[]>} */
  #known = new Map();
  /** @type {Map<string, Frame>} by its line of text */
  #frames = new Map();
  /** @type {Map<string, Code>} */
  #functions = new Map();
  #size = 0;
  #busy = false;

  /** @param {import("../sources/source.js").Source} source */
  constructor(source) {
    super();
    this.#source = source;
  }

  /**
   * The stacks of another source, with the same ids of functions.
   * @param {import("../sources/source.js").Source} source
   */
  beside(source) {
    const other = new Stacks(source);
    other.#functions = this.#functions;
    return other;
  }

  /**
   * The frames of a stack, outermost first.
   * @param {number} id
   * @returns {Frame[]|undefined} undefined before it has arrived
   */
  get(id) {
    return this.#known.get(id);
  }

  /**
   * Fetches missing ones, some at a time: call it again at "change".
   * @param {number[]} ids the most wanted first
   */
  async want(ids) {
    const missing = ids.filter((id) => !this.#known.has(id));
    if (this.#busy || !missing.length) return;
    this.#busy = true;
    try {
      if (this.#size > MOST_FRAMES) this.#forget();
      await this.#fetch(missing.slice(0, MAXIMUM_STACKS));
    } catch (error) {
      console.warn("stacks can't be loaded; trying again", error);
      await new Promise((resolve) => setTimeout(resolve, RETRY));
    } finally {
      this.#busy = false;
    }
    this.dispatchEvent(new Event("change"));
  }

  /** @param {number[]} ids */
  async #fetch(ids) {
    const response = await this.#source.fetch(`${this.#source.url}/stacks?ids=${ids.join(",")}`);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    for (const block of decode(await response.arrayBuffer())) {
      const [id, frames] = [block.numbers("id"), block.texts("frames")];
      for (let row = 0; row < block.rows; row++) this.#keep(id[row], frames.at(row));
    }
    for (const id of ids) if (!this.#known.has(id)) this.#keep(id, UNKNOWN);
  }

  /**
   * The frames of a stack that came in another way.
   * @param {string} stack a line a frame
   */
  read(stack) {
    return stack.split("\n").map((line) => this.#frame(line));
  }

  /**
   * @param {number} id
   * @param {string} stack a line a frame
   */
  #keep(id, stack) {
    const frames = this.read(stack);
    this.#known.set(id, frames);
    this.#size += frames.length;
  }

  /**
   * @param {string} text name, file and line, separated by tabs
   * @returns {Frame}
   */
  #frame(text) {
    const known = this.#frames.get(text);
    if (known) return known;
    const [name, file = "", line = ""] = text.split("\t");
    const identity = `${name}\t${file}`;
    const found = this.#functions.get(identity) ?? { id: this.#functions.size, name, file };
    this.#functions.set(identity, found);
    const frame = { of: found, line: Number.parseInt(line, 10) || 0 };
    this.#frames.set(text, frame);
    return frame;
  }

  /** Clears everything but the functions, as their ids are in use. */
  #forget() {
    this.#known.clear();
    this.#frames.clear();
    this.#size = 0;
  }
}
