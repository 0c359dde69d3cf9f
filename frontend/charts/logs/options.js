// Which log lines the charts of logs show. The selected worker is a part of it, but belongs to all charts.

import { LOG_LEVELS } from "../../timeline/log_levels.js";

export const LOG_ROLES = /** @type {const} */ (["scheduler", "worker", "nanny"]);

const LONGEST_PATTERN = 500;
const MOST_LIFETIMES = 200; // that a request may name

/** @typedef {import("../../timeline/log_levels.js").LogLevel} LogLevel */
/** @typedef {typeof LOG_ROLES[number]} LogRole */
/** @typedef {{level: LogLevel|null, role: LogRole|null, logger: string, match: string, isRegex: boolean}} LogChoice */

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

  /** @param {URLSearchParams} parameters */
  readFrom(parameters) {
    this.set({
      level: LOG_LEVELS.find((level) => String(level) === parameters.get("level")) ?? null,
      role: LOG_ROLES.find((role) => role === parameters.get("process")) ?? null,
      logger: parameters.get("logger")?.slice(0, LONGEST_PATTERN) ?? "",
      match: parameters.get("match")?.slice(0, LONGEST_PATTERN) ?? "",
      isRegex: parameters.get("regex") === "1",
    });
  }

  /** @param {URLSearchParams} parameters */
  writeTo(parameters) {
    const { level, role, logger, match, isRegex } = this.choice;
    const texts = { level: level && String(level), process: role, logger, match };
    for (const [name, text] of Object.entries(texts)) if (text) parameters.set(name, text);
    if (isRegex) parameters.set("regex", "1");
  }

  get areAll() {
    const { level, role, logger, match } = this.choice;
    return level === null && role === null && !logger && !match;
  }
}

/**
 * The path of an answer about these lines.
 * @param {string} name of the answer
 * @param {Pick<import("../../types.js").Context, "features"|"model"|"selection">} context
 */
export function logPath(name, { features, model, selection }) {
  const { level, role, logger, match, isRegex } = features.of(LogOptions).choice;
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
