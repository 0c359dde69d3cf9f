// The names of prefixes that /lanes leaves out: asked for when something draws them.

import { MAXIMUM_NAMES } from "../contract.js";

const WAIT = 50; // ms in which ids are gathered for one request

export class PrefixNames {
  #source;
  #model;
  /** @type {Set<number>} ids that were asked for, so that none is twice */
  #asked = new Set();
  /** @type {number[]} */
  #wanted = [];
  #timer = 0;

  /**
   * @param {import("./sources/source.js").Source} source
   * @param {import("./model.js").Model} model
   */
  constructor(source, model) {
    this.#source = source;
    this.#model = model;
  }

  /** @param {number} id of a prefix that the model does not know */
  ask(id) {
    if (id <= 0 || this.#asked.has(id)) return;
    this.#asked.add(id);
    this.#wanted.push(id);
    this.#timer ||= window.setTimeout(() => void this.#load(), WAIT);
  }

  async #load() {
    const ids = this.#wanted.splice(0, MAXIMUM_NAMES);
    try {
      const response = await this.#source.fetch(`${this.#source.url}/prefix-names?ids=${ids.join(",")}`);
      if (response.ok) this.#model.addPrefixes(await response.json());
    } catch (error) {
      console.warn("the names of prefixes could not be loaded", error); // they stay numbers
    }
    this.#timer = this.#wanted.length ? window.setTimeout(() => void this.#load(), WAIT) : 0;
  }
}
