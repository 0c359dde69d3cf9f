// The tooltip of the task stream.

import { ACTIONS } from "../../contract.js";
import { formatBytes, formatDuration, formatPercent } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { workerLabel } from "../../timeline/slots.js";
import { usualText } from "../../timeline/tasks/stragglers.js";
import { ACTION_COLORS, COMPUTE, ERRED_COLOR, ERROR } from "./actions.js";
import { describeLifetime } from "./lanes/lifetimes.js";
import { OTHER_PREFIXES, nameOfPrefix } from "./lanes/worker_sums.js";

/** @typedef {import("./lanes/hit.js").Hit} Hit */
/** @typedef {import("./lanes/hit.js").SpanHit} SpanHit */
/** @typedef {import("./lanes/rows.js").Row} Row */
/** @typedef {import("../../timeline/model.js").Model} Model */
/** @typedef {import("./lanes/lifetimes.js").Line} Line */
/** @typedef {import("../../types.js").Context} Context */

const MOST_SHARES = 8;

/**
 * @param {Hit} hit
 * @param {Pick<Context, "model"|"stragglers"|"attempts"|"stolen">} context
 * @param {string} label of the worker or host
 * @param {Row} row
 * @returns {{title: string, lines: Line[]}}
 */
export function describeHit(hit, { model, stragglers, attempts, stolen }, label, row) {
  const position = model.lanes.get(row.lanes[0])?.position ?? 0;
  const text = row.threads === 1 ? `${label}, thread ${position}` : `${label}, all ${row.threads} threads`;
  /** @type {Line[]} */
  const where = [["worker", text], ...lifetimeOf(model, hit.span ? [hit.span.lane] : hit.lanes)];
  if (!hit.span) return describeShares(hit, model, where, row.threads);
  const { title, lines } = describeSpan(hit.span, model, stragglers, where);
  if (hit.span.action !== COMPUTE) return { title, lines };
  const attempt = attempts.of(hit.span.key, hit.span.start);
  if (attempt) lines.push(["attempt", `${attempt.number} of ${attempt.count} in sight`]);
  const steal = stolen.of(hit.span.key, model.workerOf(hit.span.lane)?.id, hit.span.start);
  const victim = model.workers.get(steal?.victim ?? -1);
  if (steal) lines.push(["stolen", `from ${victim ? workerLabel(victim) : "an unknown worker"}`]);
  return { title, lines };
}

/**
 * @param {Model} model
 * @param {number[]} lanes
 * @returns {Line[]} the lifetime that the lanes are of, where their worker has several
 */
function lifetimeOf(model, lanes) {
  const [worker, ...others] = new Set(lanes.map((lane) => model.lanes.get(lane)?.worker ?? -1));
  const found = model.workers.get(worker);
  return found && !others.length ? describeLifetime(found, model.slotOf(worker)?.lifetimes ?? []) : [];
}

/**
 * @param {SpanHit} span
 * @param {Model} model
 * @param {Context["stragglers"]} stragglers
 * @param {Line[]} where
 */
function describeSpan(span, model, stragglers, where) {
  const erred = span.status === ERROR;
  const color =
    span.action !== COMPUTE ? ACTION_COLORS[span.action] : erred ? ERRED_COLOR : model.color(span.prefix);
  /** @type {Line[]} */
  const lines = [
    [ACTIONS[span.action] ?? "?", model.prefixName(span.prefix), color],
    ["duration", formatDuration(span.stop - span.start)],
    ["from", `${formatTime(span.start, 3)} – ${formatTime(span.stop, 3)}`],
    ...where,
  ];
  // Dask gives all spans of a task the size and type of its result
  if (span.nbytes) lines.push(["result", formatBytes(span.nbytes)]);
  if (span.typename) lines.push(["type", span.typename]);
  const usual = span.action === COMPUTE ? stragglers.usualOf(span.prefix, span.stop - span.start) : 0;
  if (usual) lines.push(["straggler", usualText(usual)]);
  if (erred) lines.push(["status", "error"]);
  return { title: span.key, lines };
}

/**
 * @param {Hit} hit
 * @param {Model} model
 * @param {Line[]} where
 * @param {number} threads
 */
function describeShares(hit, model, where, threads) {
  const length = hit.stop - hit.start;
  const share = Math.min(hit.seconds / (length * threads), 1);
  /** @type {Line[]} */
  const lines = [...where];
  for (const { prefix, action, seconds, count } of hit.shares.slice(0, MOST_SHARES)) {
    const computed = nameOfPrefix(prefix, model);
    const name = action === COMPUTE ? computed : `${computed}, ${ACTIONS[action]}`;
    const color =
      action !== COMPUTE
        ? ACTION_COLORS[action]
        : prefix === OTHER_PREFIXES
          ? undefined
          : model.color(prefix);
    const times = count ? `, ${count}×` : "";
    lines.push([name, `${formatDuration(seconds)}${times}`, color]);
  }
  const more = hit.shares.length - MOST_SHARES;
  if (more > 0) lines.push([`and ${more} more`, ""]);
  return { title: `${formatPercent(share)} computing in ${formatDuration(length)}`, lines };
}

/** @typedef {import("../../timeline/sources/source.js").Source} Source */

/** @type {Map<string, Promise<string>>} */
const answers = new Map();
const MOST_ANSWERS = 200;

/**
 * The key of the only task in a bin; "" if there are several or it is unknown.
 * @param {Hit} hit
 * @param {Source} source
 * @returns {Promise<string>}
 */
export async function askForKey(hit, source) {
  if (hit.lanes.length !== 1 || hit.span || hit.shares.length !== 1 || hit.shares[0].count !== 1) return "";
  const at = (hit.start + hit.stop) / 2;
  const url = `${source.url}/span?lane=${hit.lanes[0]}&at=${at.toFixed(6)}`;
  if (answers.size > MOST_ANSWERS) answers.clear();
  const answer = answers.get(url) ?? fetchKey(source, url);
  answers.set(url, answer);
  return answer;
}

/**
 * @param {Source} source
 * @param {string} url
 */
async function fetchKey(source, url) {
  try {
    const response = await source.fetch(url);
    return response.ok ? String((await response.json()).key ?? "") : "";
  } catch {
    return "";
  }
}
