// The marks of events, for the overview and for the track of events.

import { EVENT_KINDS } from "../../contract.js";
import { theme } from "../drawing/theme.js";

/** @typedef {import("../drawing/theme.js").Theme} Theme */
/** @typedef {{symbol: "up"|"down"|"cross"|"diamond"|"square"|"bar"|"flag", color: keyof Theme, weight: number}} Look
 * @typedef {Look & {label: string}} Mark */

/** @type {Record<keyof typeof EVENT_KINDS | "note", Look>} heavier ones are drawn over lighter ones */
const LOOKS = {
  "graph-updated": { symbol: "diamond", color: "muted", weight: 0 },
  "client-added": { symbol: "bar", color: "muted", weight: 0 },
  "client-removed": { symbol: "bar", color: "muted", weight: 0 },
  "client-described": { symbol: "bar", color: "muted", weight: 0 },
  "worker-added": { symbol: "up", color: "ok", weight: 1 },
  "worker-removed": { symbol: "down", color: "muted", weight: 1 },
  "worker-status": { symbol: "diamond", color: "warning", weight: 1 },
  "run-raised": { symbol: "cross", color: "danger", weight: 3 },
  restarted: { symbol: "square", color: "warning", weight: 2 },
  "series-refused": { symbol: "square", color: "warning", weight: 2 },
  "prefixes-summed": { symbol: "square", color: "muted", weight: 1 },
  "metrics-ignored": { symbol: "square", color: "muted", weight: 1 },
  "stream-lost": { symbol: "bar", color: "warning", weight: 2 },
  "stream-resumed": { symbol: "bar", color: "ok", weight: 1 },
  "scheduler-unreachable": { symbol: "bar", color: "danger", weight: 2 },
  "scheduler-reachable": { symbol: "bar", color: "ok", weight: 1 },
  "agent-started": { symbol: "diamond", color: "accent", weight: 1 },
  "adaptive-target": { symbol: "bar", color: "accent", weight: 1 },
  "clock-differs": { symbol: "bar", color: "muted", weight: 1 },
  shuffle: { symbol: "diamond", color: "muted", weight: 0 },
  topic: { symbol: "diamond", color: "muted", weight: 0 },
  "native-profile-refused": { symbol: "square", color: "muted", weight: 0 },
  "gpu-lost": { symbol: "cross", color: "danger", weight: 3 },
  "worker-restarted": { symbol: "up", color: "danger", weight: 3 },
  "not-observed": { symbol: "bar", color: "warning", weight: 3 },
  "records-dropped": { symbol: "bar", color: "warning", weight: 3 },
  "scraping-slowed": { symbol: "bar", color: "warning", weight: 2 },
  "worker-metrics-missing": { symbol: "bar", color: "warning", weight: 1 },
  "scheduler-metrics-missing": { symbol: "bar", color: "warning", weight: 1 },
  "agent-silent": { symbol: "bar", color: "danger", weight: 2 },
  "agent-heard": { symbol: "bar", color: "ok", weight: 1 },
  "collector-behind": { symbol: "bar", color: "danger", weight: 2 },
  "collector-caught-up": { symbol: "bar", color: "ok", weight: 1 },
  "worker-lost": { symbol: "down", color: "danger", weight: 3 },
  "worker-disappeared": { symbol: "down", color: "danger", weight: 3 },
  "tasks-erred": { symbol: "cross", color: "danger", weight: 3 },
  note: { symbol: "flag", color: "accent", weight: 4 },
  "cluster-ended": { symbol: "square", color: "text", weight: 3 },
};
const STRETCH = 0.3; // how dark
const LINE = 2; // px: height of the line to the last of those that repeat
/** @type {Record<string, {label: string, is_routine: boolean}>} */
const KINDS = EVENT_KINDS;
/** @type {Look} */
const UNKNOWN = { symbol: "diamond", color: "muted", weight: 0 };

/**
 * @param {string} kind
 * @returns {Mark}
 */
export function markOf(kind) {
  /** @type {Record<string, Look>} */
  const looks = LOOKS;
  return { ...(looks[kind] ?? UNKNOWN), label: KINDS[kind]?.label ?? kind };
}

/**
 * Where the marks of events are drawn: of those of one kind at one pixel one. Of a kind that is of routine there is one
 * for all that follow each other more closely than marks are wide, and a line to the last of them: a loop that submits
 * tasks one by one makes thousands.
 * @param {{time: number, kind: string}[]} events in order of time
 * @param {(time: number) => number} x
 * @param {[number, number]} range of x that is drawn
 * @param {number} size px
 * @returns {{kind: string, from: number, to: number}[]} px; the lighter marks first
 */
export function placesOf(events, x, range, size) {
  /** @type {{kind: string, from: number, to: number}[]} */
  const places = [];
  /** @type {Map<string, {kind: string, from: number, to: number}>} the last ones by kind */
  const newest = new Map();
  for (const { time, kind } of events) {
    const place = Math.round(x(time));
    if (place < range[0] || place > range[1]) continue;
    const last = newest.get(kind);
    const reach = KINDS[kind]?.is_routine ? size : 0;
    if (last && place - last.to <= reach) {
      last.to = place;
      continue;
    }
    const next = { kind, from: place, to: place };
    places.push(next);
    newest.set(kind, next);
  }
  return places.sort((one, other) => markOf(one.kind).weight - markOf(other.kind).weight);
}

/**
 * Draws the marks of events at their times, and the stretches of those with a stop.
 * @param {CanvasRenderingContext2D} context
 * @param {{time: number, kind: string, stop?: number|null}[]} events
 * @param {(time: number) => number} x
 * @param {[number, number]} range of x that is drawn
 * @param {number} y middle
 * @param {number} size px
 */
export function drawMarks(context, events, x, range, y, size) {
  const colors = theme();
  context.globalAlpha = STRETCH;
  for (const { time, stop, kind } of events.filter((event) => event.stop)) {
    const [from, to] = [Math.max(x(time), range[0]), Math.min(x(stop ?? time), range[1])];
    context.fillStyle = colors[markOf(kind).color];
    if (to > from) context.fillRect(from, y - size / 2, to - from, size);
  }
  context.globalAlpha = 1;
  for (const { kind, from, to } of placesOf(events, x, range, size)) {
    const { color, symbol } = markOf(kind);
    context.fillStyle = context.strokeStyle = colors[color];
    if (to > from) context.fillRect(from, y - LINE / 2, to - from, LINE);
    drawSymbol(context, symbol, from, y, size / 2);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Mark["symbol"]} symbol
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function drawSymbol(context, symbol, x, y, radius) {
  const path = (/** @type {[number, number][]} */ points) => {
    context.beginPath();
    for (const [dx, dy] of points) context.lineTo(x + dx * radius, y + dy * radius);
    context.closePath();
    context.fill();
  };
  if (symbol === "up")
    path([
      [-1, 0.8],
      [1, 0.8],
      [0, -1],
    ]);
  else if (symbol === "down")
    path([
      [-1, -0.8],
      [1, -0.8],
      [0, 1],
    ]);
  else if (symbol === "diamond")
    path([
      [0, -0.8],
      [0.8, 0],
      [0, 0.8],
      [-0.8, 0],
    ]);
  else if (symbol === "square")
    path([
      [-0.8, -0.8],
      [0.8, -0.8],
      [0.8, 0.8],
      [-0.8, 0.8],
    ]);
  else if (symbol === "flag")
    path([
      [-0.6, -1],
      [1, -0.45],
      [-0.2, 0.1],
      [-0.2, 1],
      [-0.6, 1],
    ]);
  else if (symbol === "bar")
    path([
      [-0.25, -1],
      [0.25, -1],
      [0.25, 1],
      [-0.25, 1],
    ]);
  else {
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x - radius * 0.8, y - radius * 0.8);
    context.lineTo(x + radius * 0.8, y + radius * 0.8);
    context.moveTo(x + radius * 0.8, y - radius * 0.8);
    context.lineTo(x - radius * 0.8, y + radius * 0.8);
    context.stroke();
    context.lineWidth = 1;
  }
}
