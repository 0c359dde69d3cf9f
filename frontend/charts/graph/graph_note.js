// What is said below a graph: why there is none, or what of it is not shown.

import { formatCount } from "../../formatting.js";
import { UNKNOWN_STATES } from "./states.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas} Schemas */

/**
 * @param {{answer: Schemas["GroupGraph"]|Schemas["TaskGraph"]|null, message: string}} data
 * @param {boolean} hasLayout
 * @param {Pick<Context, "info"|"source">} context
 */
export function noteText({ answer, message }, hasLayout, { info, source }) {
  if (!answer) return message;
  if ("keys" in answer && answer.is_too_large) {
    return `Over ${formatCount(answer.most)} tasks changed in this window. Zoom in to see them, or look at the groups.`;
  }
  const nodes = "keys" in answer ? answer.keys : answer.groups;
  const texts = message ? [message] : [];
  if (!nodes.length) texts.push("No task was computed or changed its state in this window.");
  else if (!hasLayout) texts.push("laying out …");
  if (!answer.has_states && nodes.length) {
    texts.push(info.has_agent ? "No changes of states were recorded in this window." : UNKNOWN_STATES);
  }
  if ("groups" in answer && answer.others)
    texts.push(`${formatCount(answer.others)} groups that took less time are not shown.`);
  if (!answer.has_all_edges) texts.push("There are more edges than are shown.");
  if ("groups" in answer && !answer.is_complete)
    texts.push("There are so many groups that the states of the smallest are not complete.");
  if (source.isFile) texts.push("A file has the graph of the whole run, not of the window.");
  return texts.join(" ");
}
