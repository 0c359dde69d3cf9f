// Items of the lists beside the timeline: a button, and text about what it opens.

import { element } from "../../element.js";

/** @typedef {import("../../types.js").Context} Context */

/**
 * @param {string} name what the button says
 * @param {string} title
 * @param {string} text
 * @param {() => void} open
 * @param {string} [kind] further classes of the button
 */
export function listItem(name, title, text, open, kind = "") {
  const button = element("button", `side-list-name ${kind}`.trim(), name);
  button.type = "button";
  button.title = title;
  button.addEventListener("click", open);
  return element("li", "", button, element("span", "muted", text));
}

/**
 * Selects a task and goes to a time (seconds), if there is one.
 * @param {Context} context
 * @param {{key: string, prefix: number|null}} task
 * @param {number} [time]
 */
export function goToTask({ selection, timeline }, { key, prefix }, time) {
  selection.set({ worker: null, prefix, key });
  if (time !== undefined) timeline.jump(time);
}
