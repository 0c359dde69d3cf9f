// Sentences on what a change would have done.

import { formatCount, formatDuration, formatPercent } from "../../formatting.js";

/** @typedef {import("../../types.js").Schemas["WhatIf"]} Answer */
/** @typedef {import("../../types.js").Schemas["HelpfulChange"]} HelpfulChange */

export const NEEDS_AGENT =
  "Predictions need the agent: without it, what tasks needed and when they were submitted is not recorded.";
export const NOTHING = "No task computed in this window.";

/**
 * @param {Pick<HelpfulChange, "workers"|"threads"|"prefix"|"times_as_fast"|"no_transfers"|"unlimited_memory"|"from_start">} change
 * @param {(prefix: number) => string} nameOf
 */
export function changeText(
  {
    workers,
    threads,
    prefix,
    times_as_fast: times,
    no_transfers: isLocal,
    unlimited_memory: isUnlimited,
    from_start: isFromStart,
  },
  nameOf,
) {
  const parts = [];
  if (workers !== null) parts.push(`with ${countText(workers, "worker")}`);
  if (threads !== null) parts.push(`with ${countText(threads, "thread")} in each worker`);
  if (prefix !== null && times !== 1) parts.push(`with tasks of ${nameOf(prefix)} ${times} times as fast`);
  if (isLocal) parts.push("if no data had to be moved");
  if (isUnlimited) parts.push("if nothing had to be spilled and no worker was paused");
  if (isFromStart) parts.push("with all workers from the start");
  return parts.join(", ") || "without a change";
}

/**
 * @param {{seconds: number, least: number, most: number}} predicted with the interval that holds eight truths of ten
 * @param {number} before
 */
export function savingText({ seconds, least, most }, before) {
  const share = (seconds - before) / before;
  if (Math.abs(share) < 0.005) return `${formatDuration(seconds)}, as long as it took`;
  const text = `${formatDuration(seconds)}, ${formatPercent(Math.abs(share))} ${share < 0 ? "shorter" : "longer"}`;
  return `${text} (${formatDuration(least)} – ${formatDuration(most)})`;
}

/** @param {Answer} answer */
export function tookText({ seconds, workers, threads }) {
  return `The window took ${formatDuration(seconds)} on ${countText(workers, "worker")} with ${countText(threads, "thread")} each.`;
}

/** @param {string[]} doubts */
export function doubtsText(doubts) {
  return doubts.length ? `Don't rely on this: ${doubts.join(" ")}` : "";
}

/** @param {number} count @param {string} noun */
export function countText(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}
