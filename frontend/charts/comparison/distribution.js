// The durations of a prefix's tasks in two runs: histograms back to back on one logarithmic axis, A above B. Between
// them are box plots: quartiles, median, and whiskers from 5 to 95 %.

import { formatDuration } from "../../formatting.js";
import { svgElement } from "../../element.js";
import { runColors } from "../drawing/palette.js";

/** @typedef {import("../../pages/comparison/parts.js").Side} Side */
/** @typedef {import("../../types.js").Schemas["TestParameters"]} Bins */

const [WIDTH, HEIGHT, BOX, LABEL_HEIGHT] = [260, 74, 8, 12]; // px
const NARROWEST = 6; // bins: so that small differences don't look large

/**
 * @param {Side|null} a
 * @param {Side|null} b
 * @param {Bins} bins
 * @returns {SVGSVGElement}
 */
export function distribution(a, b, bins) {
  const sides = [a, b].filter((side) => side !== null);
  const used = sides.flatMap((side) => side.histogram.map(([bin]) => bin));
  let [first, last] = [Math.min(...used), Math.max(...used) + 1];
  const missing = Math.max(NARROWEST - (last - first), 0);
  first -= Math.ceil(missing / 2);
  last += Math.floor(missing / 2);
  const x = (/** @type {number} */ bin) => ((bin - first) / (last - first)) * WIDTH;
  const binOf = (/** @type {number} */ seconds) =>
    bins.bins_of_octave * Math.log2(Math.max(seconds, bins.shortest) / bins.shortest);
  const svg = svgElement("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    width: WIDTH,
    height: HEIGHT,
    role: "img",
  });
  svg.setAttribute("aria-label", [describe("A", a), describe("B", b)].join("; "));
  const room = (HEIGHT - LABEL_HEIGHT - 2 * BOX) / 2;
  if (a)
    svg.append(
      bars(a, x, room, -1, room, runColors.a),
      ...box(a, (s) => x(binOf(s)), room + BOX / 2, runColors.a),
    );
  if (b) {
    const top = room + 2 * BOX;
    svg.append(
      bars(b, x, top, 1, room, runColors.b),
      ...box(b, (s) => x(binOf(s)), top - BOX / 2, runColors.b),
    );
  }
  const shortest = Math.min(...sides.map((side) => side.shortest));
  const longest = Math.max(...sides.map((side) => side.longest));
  svg.append(label(0, "start", shortest), label(WIDTH, "end", longest));
  return svg;
}

/**
 * @param {string} name
 * @param {Side|null} side
 */
function describe(name, side) {
  if (!side) return `${name}: none`;
  const [least, , middle, , most] = side.quantiles.map(formatDuration);
  const [shortest, longest] = [side.shortest, side.longest].map(formatDuration);
  return `${name}: ${shortest} to ${longest}, median ${middle}, 90 % between ${least} and ${most}`;
}

/**
 * @param {Side} side
 * @param {(bin: number) => number} x
 * @param {number} base
 * @param {1|-1} direction
 * @param {number} room
 * @param {string} color
 */
function bars({ histogram }, x, base, direction, room, color) {
  const most = Math.max(...histogram.map(([, count]) => count));
  const path = histogram.map(([bin, count]) => {
    const height = Math.max((count / most) * room, 1) * direction;
    return `M${x(bin)} ${base}V${base + height}H${x(bin + 1)}V${base}Z`;
  });
  return svgElement("path", { d: path.join(""), fill: color, "fill-opacity": 0.45 });
}

/**
 * @param {Side} side
 * @param {(seconds: number) => number} x
 * @param {number} middle
 * @param {string} color
 */
function box({ quantiles }, x, middle, color) {
  const [least, low, median, high, most] = quantiles.map(x);
  const [top, height] = [middle - 2.5, 5];
  return [
    svgElement("path", { d: `M${least} ${middle}H${most}`, stroke: color }),
    svgElement("rect", { x: low, y: top, width: Math.max(high - low, 1), height, fill: color }),
    svgElement("path", { d: `M${median} ${middle - 4}V${middle + 4}`, class: "distribution-median" }),
  ];
}

/**
 * @param {number} x
 * @param {string} anchor
 * @param {number} seconds
 */
function label(x, anchor, seconds) {
  const text = svgElement("text", { x, y: HEIGHT - 1, "text-anchor": anchor });
  text.textContent = formatDuration(seconds);
  return text;
}
