// Transfers and steals of the selected task as text.

import { formatBytes, formatCount, formatDuration } from "../../formatting.js";

/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {(worker: number|null) => string} NameOf of a worker */

const MOST_KEYS = 3;

/**
 * @param {Schemas["LineageTransfer"]} transfer
 * @returns {string} size, duration, bandwidth and keys
 */
export function describeTransfer({ start, stop, nbytes, count, keys }) {
  const seconds = stop - start;
  const parts = [formatBytes(nbytes), formatDuration(seconds)];
  if (seconds > 0) parts.push(`${formatBytes(nbytes / seconds)}/s`);
  const named = keys.slice(0, MOST_KEYS).map(({ key }) => key);
  const more = count - named.length;
  return `${parts.join(" · ")} · ${named.join(", ")}${more > 0 ? ` and ${formatCount(more)} more` : ""}`;
}

/**
 * @param {Schemas["LineageSteal"]} steal
 * @param {NameOf} name
 * @returns {string} why: what the move cost and how much work waited on both workers
 */
export function describeSteal(
  { victim, thief, cost, victim_occupancy: before, thief_occupancy: after },
  name,
) {
  if (cost === null || before === null || after === null) return "its cost is unknown";
  const work = `${formatDuration(before)} of work waited on ${name(victim)}, ${formatDuration(after)} on ${name(thief)}`;
  return `${work}; the move was expected to take ${formatDuration(cost)}`;
}
