// A histogram of durations on a logarithmic axis, which several share.

import { svgElement } from "../../element.js";
import { formatCount, formatDuration } from "../../formatting.js";

/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {Omit<Schemas["GroupFigures"], "group"|"prefix"|"name"|"erred">} Durations */
/** @typedef {Pick<Schemas["Groups"], "shortest"|"bins_of_octave">} Bins */
/** @typedef {{first: number, last: number, shortest: number, ofOctave: number}} DurationAxis from bin `first` up to `last`, which is not in it */

const NARROWEST_AXIS = 8; // bins: so that small differences don't look large
const NARROWEST_BAR = 3; // px
const LABELS = 14; // px that the labels of an axis are high
const BETWEEN_LABELS = 60; // px

/**
 * The axis on which all histograms have room.
 * @param {Pick<Durations, "histogram">[]} rows
 * @param {Bins} bins
 * @returns {DurationAxis}
 */
export function durationAxis(rows, { shortest, bins_of_octave }) {
  let [first, last] = [Infinity, -Infinity];
  for (const { histogram } of rows) {
    if (!histogram.length) continue;
    first = Math.min(first, histogram[0][0]);
    last = Math.max(last, histogram[histogram.length - 1][0] + 1);
  }
  if (first === Infinity) [first, last] = [0, 0];
  const missing = Math.max(NARROWEST_AXIS - (last - first), 0);
  return {
    first: first - Math.floor(missing / 2),
    last: last + Math.ceil(missing / 2),
    shortest,
    ofOctave: bins_of_octave,
  };
}

/** @param {DurationAxis} axis @param {number} bin @returns {number} seconds at which it begins */
export function secondsOf({ shortest, ofOctave }, bin) {
  return shortest * 2 ** (bin / ofOctave);
}

/**
 * The heights of bars: of so many bins each that none is too narrow.
 * @param {Durations["histogram"]} histogram
 * @param {DurationAxis} axis
 * @param {number} width px
 * @returns {{bins: number, counts: Map<number, number>}} `counts` by the number of the bar
 */
export function barsOf(histogram, { first, last }, width) {
  const bins = Math.max(1, Math.ceil(((last - first) * NARROWEST_BAR) / width));
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const [bin, count] of histogram) {
    const bar = Math.floor((bin - first) / bins);
    counts.set(bar, (counts.get(bar) ?? 0) + count);
  }
  return { bins, counts };
}

/**
 * @param {Durations} durations
 * @param {DurationAxis} axis
 * @param {{width: number, height: number, color: string, hasLabels?: boolean}} look px
 * @returns {SVGSVGElement} bars, and a line at the median
 */
export function durationBars(durations, axis, { width, height, color, hasLabels = false }) {
  const svg = svgElement("svg", {
    class: "duration-bars",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
  });
  svg.setAttribute("aria-label", describe(durations));
  const title = svgElement("title", {});
  title.textContent = describe(durations);
  const floor = hasLabels ? height - LABELS : height;
  const x = (/** @type {number} */ bin) => ((bin - axis.first) / (axis.last - axis.first)) * width;
  const { bins, counts } = barsOf(durations.histogram, axis, width);
  const most = Math.max(...counts.values());
  const path = [...counts].map(([bar, count]) => {
    const left = x(axis.first + bar * bins);
    const right = Math.min(x(axis.first + (bar + 1) * bins), width);
    return `M${left.toFixed(1)} ${floor}V${(floor - Math.max((count / most) * floor, 1)).toFixed(1)}H${right.toFixed(1)}V${floor}Z`;
  });
  svg.append(title, svgElement("path", { d: path.join(""), fill: color }));
  if (durations.median !== null) {
    const at = x(axis.ofOctave * Math.log2(durations.median / axis.shortest)).toFixed(1);
    svg.append(svgElement("path", { d: `M${at} 0V${floor}`, class: "duration-median" }));
  }
  if (hasLabels) svg.append(...labels(axis, x, width, height));
  return svg;
}

/** @param {Durations} durations */
export function describe({ tasks, shortest, median, p95, longest }) {
  if (shortest === null || median === null || p95 === null || longest === null) return "No task ended.";
  if (tasks === 1) return `1 task: ${formatDuration(longest)}`;
  return `${formatCount(tasks)} tasks: the shortest ${formatDuration(shortest)}, median ${formatDuration(median)}, 95 % up to ${formatDuration(p95)}, the longest ${formatDuration(longest)}`;
}

/**
 * Powers of ten, where these are too few of two.
 * @param {DurationAxis} axis
 * @param {(bin: number) => number} x
 * @param {number} width
 * @param {number} height
 */
function* labels(axis, x, width, height) {
  const octaves = (axis.last - axis.first) / axis.ofOctave;
  const base = octaves < 7 ? 2 : 10;
  const [from, to] = [secondsOf(axis, axis.first), secondsOf(axis, axis.last)];
  let before = -Infinity;
  for (let power = Math.ceil(Math.log(from) / Math.log(base)); base ** power <= to; power += 1) {
    const at = x(axis.ofOctave * Math.log2(base ** power / axis.shortest));
    if (at - before < BETWEEN_LABELS) continue;
    before = at;
    const anchor = at < 20 ? "start" : at > width - 20 ? "end" : "middle";
    const text = svgElement("text", { x: at.toFixed(1), y: height - 2, "text-anchor": anchor });
    text.textContent = formatDuration(base ** power);
    yield svgElement("path", { d: `M${at.toFixed(1)} ${height - LABELS}v3`, class: "duration-tick" });
    yield text;
  }
}
