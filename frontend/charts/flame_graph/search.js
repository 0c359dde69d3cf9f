// What is looked for in a flame graph: a function that was chosen in its tables, or a text.

import { nameOf, share } from "./text.js";
import { samplesWith } from "./tree.js";

/** @typedef {import("../../timeline/tiles/stacks.js").Code} Code */
/** `chosen`: a function, before `text`. @typedef {{chosen: {id: number, name: string}|null, text: string}} Sought */

/**
 * @param {Sought} sought
 * @returns {((of: Code) => boolean)|null} whether a frame is looked for; null: nothing is
 */
export function matcherOf({ chosen, text }) {
  if (chosen) return (of) => of.id === chosen.id;
  return text ? (of) => `${of.name} ${of.file}`.toLowerCase().includes(text) : null;
}

/**
 * In how much of the graph it is.
 * @param {Sought} sought
 * @param {import("./tree.js").Node} focus what is zoomed into
 */
export function matchText(sought, focus) {
  const matches = matcherOf(sought);
  if (!matches) return "";
  const what = sought.chosen ? sought.chosen.name : `“${sought.text}”`;
  const found = samplesWith(focus, matches);
  const where = focus.of ? `of ${nameOf(focus)}` : "of all";
  return found ? `${what} is in ${share(found, focus.total)} ${where}` : `${what} is in no frame`;
}
