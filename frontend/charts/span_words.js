// What the task stream's tooltip says.

import { formatBytes, formatDuration, formatTime } from "../timeline/times.js";
import { ACTIONS, ACTION_COLORS, COMPUTE, ERRED_COLOR, ERROR } from "./actions.js";
import { workerLabel } from "./lane_rows.js";

/** @typedef {import("./lane_hit.js").Hit} Hit */
/** @typedef {import("./lane_hit.js").SpanHit} SpanHit */
/** @typedef {import("../timeline/model.js").Model} Model */

const MOST_SHARES = 8;

/**
 * @param {Hit} hit
 * @param {Model} model
 * @param {number} worker
 * @param {number} lane
 * @returns {{title: string, lines: [string, string, string?][]}}
 */
export function describeHit(hit, model, worker, lane) {
  const found = model.workers.get(worker);
  const position = model.lanes.get(lane)?.position ?? 0;
  const where = `${found ? workerLabel(found) : worker}, thread ${position}`;
  return hit.span ? describeSpan(hit.span, model, where) : describeShares(hit, model, where);
}

/**
 * @param {SpanHit} span
 * @param {Model} model
 * @param {string} where
 */
function describeSpan(span, model, where) {
  const erred = span.status === ERROR;
  const color = span.action !== COMPUTE ? ACTION_COLORS[span.action] : erred ? ERRED_COLOR : model.color(span.prefix);
  /** @type {[string, string, string?][]} */
  const lines = [
    [ACTIONS[span.action] ?? "?", model.prefixName(span.prefix), color],
    ["duration", formatDuration(span.stop - span.start)],
    ["from", `${formatTime(span.start, 3)} – ${formatTime(span.stop, 3)}`],
    ["worker", where],
  ];
  if (span.nbytes) lines.push(["size", formatBytes(span.nbytes)]);
  if (span.typename) lines.push(["type", span.typename]);
  if (erred) lines.push(["status", "error"]);
  return { title: span.key, lines };
}

/**
 * @param {Hit} hit
 * @param {Model} model
 * @param {string} where
 */
function describeShares(hit, model, where) {
  const length = hit.stop - hit.start;
  const share = Math.min(hit.seconds / length, 1);
  /** @type {[string, string, string?][]} */
  const lines = [["worker", where]];
  for (const { prefix, action, seconds, count } of hit.shares.slice(0, MOST_SHARES)) {
    const name = action === COMPUTE ? model.prefixName(prefix) : `${model.prefixName(prefix)}, ${ACTIONS[action]}`;
    const color = action === COMPUTE ? model.color(prefix) : ACTION_COLORS[action];
    const times = count ? `, ${count}×` : "";
    lines.push([name, `${formatDuration(seconds)}${times}`, color]);
  }
  const more = hit.shares.length - MOST_SHARES;
  if (more > 0) lines.push([`and ${more} more`, ""]);
  return { title: `${formatPercent(share)} computing in ${formatDuration(length)}`, lines };
}

/** @param {number} share */
function formatPercent(share) {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;
}

/** @type {Map<string, Promise<string>>} */
const answers = new Map();
const MOST_ANSWERS = 200;

/**
 * The key of the one task that a bin holds; "" where there are more, or it can't be told.
 * @param {Hit} hit
 * @param {number} cluster
 * @param {number} lane
 * @returns {Promise<string>}
 */
export async function askForKey(hit, cluster, lane) {
  if (hit.span || hit.shares.length !== 1 || hit.shares[0].count !== 1) return "";
  const at = (hit.start + hit.stop) / 2;
  const url = `/api/v1/clusters/${cluster}/span?lane=${lane}&at=${at.toFixed(6)}`;
  if (answers.size > MOST_ANSWERS) answers.clear();
  const answer = answers.get(url) ?? fetchKey(url);
  answers.set(url, answer);
  return answer;
}

/** @param {string} url */
async function fetchKey(url) {
  try {
    const response = await fetch(url);
    return response.ok ? String((await response.json()).key ?? "") : "";
  } catch {
    return "";
  }
}
