// The log lines of a file: found and counted as the server does (observatory/replay/logs/search.py, counts.py).

import { LOG_LEVELS, knownLevel } from "../log_levels.js";

/** @typedef {import("../../types.js").Schemas["Logs"]} Logs */
/** @typedef {import("../../types.js").Schemas["LogCountsOut"]} Counts */
/** @typedef {Logs["lines"][number]} LogLine */

const BINS = 160;

/**
 * @param {LogLine[]} lines in order of time
 * @param {URLSearchParams} query of /logs
 * @returns {Logs}
 */
export function findLogs(lines, query) {
  const found = matching(lines, query);
  const limit = Number(query.get("limit") ?? 200);
  const place = (/** @type {string|null} */ id) => found.findIndex((line) => line.id === id);
  let [from, to] = [found.length - limit, found.length];
  if (query.has("older")) [from, to] = [place(query.get("older")) - limit, place(query.get("older"))];
  else if (query.has("newer"))
    [from, to] = [place(query.get("newer")) + 1, place(query.get("newer")) + 1 + limit];
  else if (query.has("at")) {
    const next = found.findIndex(({ time }) => time >= Number(query.get("at")));
    from = Math.min((next < 0 ? found.length : next) - limit / 2, found.length - limit);
    to = Math.max(from, 0) + limit;
  }
  const shown = found.slice(Math.max(from, 0), Math.max(to, 0));
  const [older, newer] = [
    from > 0 ? shown[0]?.id : null,
    to < found.length ? shown[shown.length - 1]?.id : null,
  ];
  return { lines: shown, older: older ?? null, newer: newer ?? null, searched_from: null, searched_to: null };
}

/**
 * @param {LogLine[]} lines in order of time
 * @param {URLSearchParams} query of /log-counts
 * @returns {Counts}
 */
export function countLogs(lines, query) {
  const [after, before] = [Number(query.get("after")), Number(query.get("before"))];
  const width = Math.max((before - after) / BINS, 1e-6);
  const found = matching(lines, query);
  const levels = LOG_LEVELS.flatMap((level) => {
    const places = found
      .filter((line) => knownLevel(line.level) === level)
      .map(({ time }) => Math.floor((time - after) / width));
    if (!places.length) return [];
    const counts = new Array(Math.max(...places) + 1).fill(0);
    for (const place of places) counts[place] += 1;
    return [{ level, counts }];
  });
  return { first: after, width, levels, counted_from: null };
}

/**
 * @param {LogLine[]} lines
 * @param {URLSearchParams} query; throws SyntaxError for an invalid regular expression
 */
function matching(lines, query) {
  const text = (/** @type {string} */ name) => query.get(name) ?? "";
  const [after, before, level] = [
    Number(text("after")),
    Number(query.get("before") ?? Infinity),
    Number(text("level")),
  ];
  const workers = text("workers") ? text("workers").split(",").map(Number) : [];
  const [role, logger, match] = [text("role"), text("logger"), text("match").toLowerCase()];
  const pattern = query.get("regex") === "true" ? new RegExp(text("match"), "i") : null;
  return lines.filter((line) => {
    if (line.time < after || line.time >= before || line.level < level) return false;
    if ((role && line.role !== role) || (logger && !`${line.logger}.`.startsWith(`${logger}.`))) return false;
    if (workers.length && !workers.includes(line.worker ?? 0)) return false;
    const texts = [line.message, line.traceback];
    return texts.some((one) => (pattern ? pattern.test(one) : one.toLowerCase().includes(match)));
  });
}
