// What the list of findings says where there are none, and how a cost is written.

import { formatDuration } from "../../formatting.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["Findings"]} Answer */
/** @typedef {import("../../types.js").Schemas["FindingItem"]} Finding */

const WITHOUT_AGENT =
  "Without the agent, most causes can't be told, nor which client submitted a task: other clients' tasks count as well.";

/** @param {Answer} answer; what was looked for, where nothing was found */
export function nothingText({ looked_for: titles, findings }) {
  return `Nothing ${findings.length ? "else " : ""}stands out in this window. It was searched for: ${titles.join(", ")}.`;
}

/** @param {number} count of marked findings */
export function markedText(count) {
  return count === 1
    ? "1 finding is marked as known or wrong"
    : `${count} findings are marked as known or wrong`;
}

/** @param {Context} context; why there is no answer */
export function missingText({ answers }) {
  return answers["/findings"].message;
}

/** @param {Context} context; what the answer leaves out, or why it isn't of this window; else empty */
export function noteText({ answers, source }) {
  const { answer, message } = answers["/findings"];
  if (message) return message;
  const notes = source.url === "" ? ["A file has the findings of the whole run, whatever the window."] : [];
  if (answer && !answer.has_agent) notes.push(WITHOUT_AGENT);
  return notes.join(" ");
}

/**
 * A cost, and how it is known: simulated, with the interval that holds eight truths of ten, or as a sum.
 * @param {Pick<Finding, "thread_seconds"|"wall_seconds"|"least_wall_seconds"|"most_wall_seconds">} finding
 */
export function costText({
  thread_seconds: threads,
  wall_seconds: wall,
  least_wall_seconds: least,
  most_wall_seconds: most,
}) {
  const parts = [];
  if (threads > 0) parts.push(`${formatDuration(threads)} of threads`);
  if (typeof least === "number" && typeof most === "number")
    parts.push(`${formatDuration(wall)} in all (${formatDuration(least)} – ${formatDuration(most)})`);
  else if (wall > 0) parts.push(`${formatDuration(wall)} in all, as a sum`);
  return parts.join(", ");
}

/** @param {Pick<Finding, "together_seconds">} finding; what all findings save together, where they do only so */
export function togetherText({ together_seconds: together }) {
  if (!together) return "";
  return (
    "Only together do the findings explain the time: without all of them the window would have been " +
    `${formatDuration(together)} shorter.`
  );
}
