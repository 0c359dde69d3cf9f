// Levels of log lines, as Python's logging numbers them.

export const LOG_LEVELS = /** @type {const} */ ([10, 20, 30, 40, 50]);

/** @typedef {typeof LOG_LEVELS[number]} LogLevel */

/** @type {Record<LogLevel, string>} */
export const LEVEL_NAMES = { 10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical" };

/** @param {number} level @returns {LogLevel} the greatest known level that it reaches */
export function knownLevel(level) {
  return [...LOG_LEVELS].reverse().find((known) => level >= known) ?? 10;
}
