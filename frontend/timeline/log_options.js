// Which log lines the charts of logs show. The selected worker is a part of it, but belongs to all charts.

export const LOG_LEVELS = /** @type {const} */ ([10, 20, 30, 40, 50]);
export const LOG_ROLES = /** @type {const} */ (["scheduler", "worker", "nanny"]);

const MOST_LIFETIMES = 200; // that a request may name

/** @typedef {typeof LOG_LEVELS[number]} LogLevel */
/** @typedef {typeof LOG_ROLES[number]} LogRole */
/** @typedef {{level: LogLevel|null, role: LogRole|null, logger: string, match: string, isRegex: boolean}} LogChoice */

/** @type {Record<LogLevel, string>} */
export const LEVEL_NAMES = { 10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical" };

/** @type {LogChoice} all lines */
const ALL = { level: null, role: null, logger: "", match: "", isRegex: false };

/** Fires "change". */
export class LogOptions extends EventTarget {
  /** @type {LogChoice} `level` is the lowest; `match` a text, or a regular expression */
  choice = ALL;

  /** @param {Partial<LogChoice>} part; what isn't given stays as it is */
  set(part) {
    const choice = { ...this.choice, ...part };
    const names = /** @type {(keyof LogChoice)[]} */ (Object.keys(ALL));
    if (names.every((name) => choice[name] === this.choice[name])) return;
    this.choice = choice;
    this.dispatchEvent(new Event("change"));
  }

  clear() {
    this.set(ALL);
  }

  get areAll() {
    const { level, role, logger, match } = this.choice;
    return level === null && role === null && !logger && !match;
  }
}

/**
 * The path of an answer about these lines.
 * @param {string} name of the answer
 * @param {Pick<import("../types.js").Context, "logOptions"|"model"|"selection">} context
 */
export function logPath(name, { logOptions, model, selection }) {
  const { level, role, logger, match, isRegex } = logOptions.choice;
  const lifetimes = model.lifetimesOf(selection.worker).slice(-MOST_LIFETIMES);
  const query = new URLSearchParams({
    ...(level !== null && { level: String(level) }),
    ...(role !== null && { role }),
    ...(lifetimes.length > 0 && { workers: lifetimes.join(",") }),
    ...(logger && { logger }),
    ...(match && { match }),
    ...(match && isRegex && { regex: "true" }),
  }).toString();
  return query ? `/${name}?${query}` : `/${name}`;
}

/** @param {number} level @returns {LogLevel} the greatest known level that it reaches */
export function knownLevel(level) {
  return [...LOG_LEVELS].reverse().find((known) => level >= known) ?? 10;
}
