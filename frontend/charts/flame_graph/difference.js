// The difference of two profiles. Shares of the samples are compared, as the windows may differ in length and load.

import { usages } from "./tree.js";

/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./tree.js").Usage} Usage */
/** @typedef {import("../../timeline/tiles/stacks.js").Code} Code */
/**
 * Of all samples of each profile, 0 to 1: `here` of the drawn one, `there` of the other one.
 * @typedef {{here: number, there: number, difference: number}} Shares
 * `own` is of samples that ended in the function, `total` also of those in its callees.
 * @typedef {{of: Code, own: Shares, total: Shares}} FunctionShares
 */

const LEAST_SCALE = 0.02; // the colours of smaller differences are pale

export class Difference {
  #here;
  #there;
  /** @type {Map<Node, Node>} frames of the drawn profile with the same callers in the other one */
  #pairs = new Map();
  /** the share that has the strongest colour: the largest difference of any frame */
  scale = LEAST_SCALE;

  /**
   * @param {Node} here root of the profile that is drawn; it has samples
   * @param {Node} there root of the one that it is compared with
   */
  constructor(here, there) {
    this.#here = here;
    this.#there = there;
    this.#pair();
  }

  #pair() {
    /** @type {[Node, Node|undefined][]} */
    const waiting = [[this.#here, this.#there]];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [node, other] = next;
      if (other) this.#pairs.set(node, other);
      this.scale = Math.max(this.scale, Math.abs(this.of(node).difference));
      for (const [id, child] of node.children) waiting.push([child, other?.children.get(id)]);
    }
  }

  /** @param {Node} node of the drawn profile @returns {Shares} of a frame with its callees */
  of(node) {
    return this.#shares(node.total, this.#pairs.get(node)?.total ?? 0);
  }

  /**
   * The functions below a frame and in it, also those that only the other profile has there.
   * @param {Node} top of the drawn profile
   * @returns {FunctionShares[]}
   */
  functions(top) {
    const pair = this.#pairs.get(top);
    const [here, there] = [byId(usages(top)), byId(pair ? usages(pair) : [])];
    return [...new Map([...there, ...here]).values()].map(({ of }) => {
      const [one, other] = [here.get(of.id), there.get(of.id)];
      return {
        of,
        own: this.#shares(one?.own ?? 0, other?.own ?? 0),
        total: this.#shares(one?.total ?? 0, other?.total ?? 0),
      };
    });
  }

  /**
   * @param {number} here samples
   * @param {number} there
   * @returns {Shares}
   */
  #shares(here, there) {
    const [one, other] = [here / Math.max(this.#here.total, 1), there / Math.max(this.#there.total, 1)];
    return { here: one, there: other, difference: one - other };
  }
}

/** @param {Usage[]} found */
function byId(found) {
  return new Map(found.map((usage) => [usage.of.id, usage]));
}
