// Says when what is shown at the playhead was counted, where that was before it.

import { formatDuration } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";

const SAME = 0.05; // seconds

/**
 * "Counts are of 12:03:41.0, 3.00 s earlier"; empty where they are of the playhead's time or unknown.
 * @param {number} at of the state, in seconds
 * @param {number|null|undefined} countedAt
 * @param {string} what in the plural
 */
export function sampledNote(at, countedAt, what) {
  if (countedAt === null || countedAt === undefined || at - countedAt < SAME) return "";
  return `${what} are of ${formatTime(countedAt, 1)}, ${formatDuration(at - countedAt)} earlier`;
}
