// The lifetimes of the workers in a row: hatched where there is none, with a mark where one ended.

import { CLUSTER_ENDED } from "../../../timeline/marks/events.js";
import { pausesOf, workerLabel } from "../../../timeline/slots.js";
import { formatTime } from "../../../timeline/times.js";
import { markOf } from "../../events/marks.js";
import { hatching } from "../../drawing/surface.js";
import { theme } from "../../drawing/theme.js";

/** @typedef {import("../../../types.js").Worker} Worker */
/** @typedef {[string, string, string?]} Line name, value and the colour of a swatch */

/** @type {Record<string, string>} event of a worker's end, by its reason; that of others is worker-removed */
const MARKS = { lost: "worker-lost", disappeared: "worker-disappeared" };
const MARK = 4; // px: half the width of a mark
const MOST_LINES = 6; // of lifetimes, and of labels, in a tooltip

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Worker[]} lifetimes of one slot that overlap the window, in order of their starts
 * @param {(time: number) => number} x
 * @param {[number, number]} range of x that is drawn
 * @param {number} top px
 * @param {number} height px
 */
export function drawLifetimes(context, lifetimes, x, [left, right], top, height) {
  const last = lifetimes[lifetimes.length - 1].ended ?? Infinity;
  const pauses = [
    { start: -Infinity, stop: lifetimes[0].started },
    ...pausesOf(lifetimes),
    { start: last, stop: Infinity },
  ];
  context.fillStyle = hatching(context, theme().hatch);
  for (const { start, stop } of pauses) {
    const [from, to] = [Math.max(x(start), left), Math.min(x(stop), right)];
    if (to > from) context.fillRect(from, top, to - from, height);
  }
  for (const worker of lifetimes.filter(hasEnded))
    drawEnd(context, worker, x(worker.ended ?? 0), top, height);
}

/** @param {Worker} worker; whether it ended before its cluster did */
function hasEnded({ ended, end_reason: reason }) {
  return ended !== null && reason !== CLUSTER_ENDED;
}

/** @param {Worker} worker that has ended */
function markOfEnd(worker) {
  return markOf(MARKS[worker.end_reason] ?? "worker-removed");
}

/**
 * A line with ▼ above it, as in the track of events.
 * @param {CanvasRenderingContext2D} context
 * @param {Worker} worker
 * @param {number} x px
 * @param {number} top px
 * @param {number} height px
 */
function drawEnd(context, worker, x, top, height) {
  const colors = theme();
  const place = Math.round(x);
  context.fillStyle = colors.plot; // the mark is seen on any colour of a task
  context.fillRect(place - 2, top, 4, height);
  context.fillStyle = colors[markOfEnd(worker).color];
  context.fillRect(place - 1, top, 2, height);
  context.beginPath();
  context.moveTo(place - MARK, top);
  context.lineTo(place + MARK, top);
  context.lineTo(place, top + Math.min(2 * MARK, height));
  context.fill();
}

/**
 * @param {Worker[]} lifetimes
 * @param {number} time
 * @param {number} reach seconds
 * @returns {Worker|null} the one whose end has its mark nearest to a time
 */
export function endNear(lifetimes, time, reach) {
  const distance = (/** @type {Worker} */ { ended }) => Math.abs((ended ?? Infinity) - time);
  const near = lifetimes.filter((worker) => hasEnded(worker) && distance(worker) <= reach);
  return near.sort((one, other) => distance(one) - distance(other))[0] ?? null;
}

/**
 * @param {Worker} worker
 * @param {Worker[]} lifetimes all of its slot
 * @returns {Line[]} which of several lifetimes it is
 */
export function describeLifetime(worker, lifetimes) {
  if (lifetimes.length < 2) return [];
  return [["lifetime", `${lifetimes.indexOf(worker) + 1} of ${lifetimes.length}: ${span(worker)}`]];
}

/**
 * @param {Worker} worker that has ended
 * @param {Worker[]} lifetimes all of its slot
 * @returns {{title: string, lines: Line[]}}
 */
export function describeEnd(worker, lifetimes) {
  const mark = markOfEnd(worker);
  const title = `${workerLabel(worker)}: ${mark.label}`;
  return {
    title,
    lines: [
      ["at", formatTime(worker.ended ?? 0, 1), theme()[mark.color]],
      ["address", worker.address],
      ...describeLifetime(worker, lifetimes),
    ],
  };
}

/**
 * @param {Worker[]} lifetimes all of a slot
 * @returns {{title: string, lines: Line[]}} what is known of a worker: of its newest lifetime, and when the others were
 */
export function describeWorker(lifetimes) {
  const worker = lifetimes[lifetimes.length - 1];
  /** @type {Line[]} */
  const lines = [
    ["address", worker.address],
    ["threads", String(worker.nthreads)],
    ["status", worker.ended === null ? worker.status : "ended"],
  ];
  if (worker.host && worker.host !== worker.address) lines.splice(1, 0, ["host", worker.host]);
  const nameOf = (/** @type {Worker} */ one) =>
    lifetimes.length > 1 ? `lifetime ${lifetimes.indexOf(one) + 1}` : "lifetime";
  const newest = lifetimes.slice(-MOST_LINES).reverse();
  lines.push(...newest.map((one) => /** @type {Line} */ ([nameOf(one), span(one)])));
  lines.push(
    ...Object.entries(worker.tags ?? {})
      .slice(0, MOST_LINES)
      .map(([label, value]) => /** @type {Line} */ ([label, value])),
  );
  const rest = lifetimes.length - newest.length;
  if (rest) lines.push([`and ${rest} earlier`, ""]);
  return { title: workerLabel(worker), lines };
}

/** @param {Worker} worker */
function span({ started, ended, end_reason: reason }) {
  if (ended === null) return `since ${formatTime(started, 0)}`;
  return `${formatTime(started, 0)} – ${formatTime(ended, 0)}${reason ? `, ${reason}` : ""}`;
}
