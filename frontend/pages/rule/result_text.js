// Describes the result of a back-test in words.

import { formatCount, formatDuration } from "../../formatting.js";

/**
 * Durations of firings in seconds.
 * @typedef {{count: number, median: number, shortest: number}} Lasted
 * A threshold to clear at, and the firings with it.
 * @typedef {{text: string, lasted: Lasted|null}} ClearOffer
 * @typedef {import("../../charts/alerts/back_test_chart.js").Drawn & {more_lines: number, more_firings: number,
 *   clusters: string[], more_clusters: number, lasted: Lasted|null, too_short: {count: number, longest: number},
 *   hold: number, clear_offer: ClearOffer|null, runs: RunCounts|null}} Result
 * Of a rule on runs: how many ended in the window, and how many of them have too few earlier ones.
 * @typedef {{ended: number, unjudged: number, fewest: number}} RunCounts
 */

/** @param {Result} result */
export function resultInWords(result) {
  const { lines, more_lines, clusters, more_clusters, lasted, runs } = result;
  const sentences = [];
  if (!clusters.length) sentences.push("No cluster of this rule existed in the window.");
  else if (runs && !runs.ended) sentences.push("No run with such a name ended in the window.");
  else if (!lines.length && !result.is_event && !runs)
    sentences.push("No data of this metric in the window.");
  else if (!lasted) sentences.push("The rule would not have fired.");
  else sentences.push(`The rule would have fired ${times(lasted.count)}.`, `${howLong(lasted)}.`);
  if (runs?.unjudged) sentences.push(tooFew(runs));
  sentences.push(...tooShort(result));
  if (clusters.length)
    sentences.push(
      `Evaluated on ${named(clusters)}${more_clusters ? `, not on ${more_clusters} more` : ""}.`,
    );
  if (more_lines) sentences.push(`${lines.length} of ${lines.length + more_lines} lines are drawn.`);
  return sentences.join(" ");
}

/** @param {ClearOffer} offer */
export function offered({ text, lasted }) {
  const start = `Firings are short or follow each other closely. Clearing at ${text}, the rule would`;
  if (!lasted) return `${start} not have fired.`;
  const { count, median, shortest } = lasted;
  const atLeast = count === 1 ? "" : ` in the median, at least ${formatDuration(shortest)}`;
  return `${start} have fired ${times(count)}, for ${formatDuration(median)}${atLeast}.`;
}

/** @param {Lasted} lasted */
function howLong({ count, median, shortest }) {
  if (count === 1) return `It lasted ${formatDuration(median)}`;
  return `Firings lasted ${formatDuration(median)} in the median, the shortest ${formatDuration(shortest)}`;
}

/** @param {RunCounts} runs */
function tooFew({ ended, unjudged, fewest }) {
  const those =
    unjudged === ended
      ? ended === 1
        ? "The run that ended was"
        : `All ${ended} runs were`
      : `${unjudged} of ${ended} runs were`;
  return `${those} not judged: fewer than ${fewest} earlier runs of the name are known.`;
}

/** @param {Result} result */
function tooShort({ too_short: { count, longest }, hold, is_event }) {
  if (!count) return [];
  const what = is_event ? "The condition was true" : "The threshold was crossed";
  const longer = count === 1 ? `for ${formatDuration(longest)}` : `the longest ${formatDuration(longest)}`;
  return [`${what} ${times(count)} for less than ${formatDuration(hold)}, ${longer}: too short to fire.`];
}

/** @param {number} count */
function times(count) {
  return count === 1 ? "once" : `${formatCount(count)} times`;
}

/** @param {string[]} clusters */
function named(clusters) {
  return clusters.length > 3
    ? `${clusters.slice(0, 3).join(", ")} and ${clusters.length - 3} more`
    : clusters.join(", ");
}
