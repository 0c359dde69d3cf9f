// A sparkline of a metric's recent values: the mean as a line in the band from minimum to maximum.

import { svgElement } from "../../element.js";

/** @typedef {{time: number, mean: number, minimum: number, maximum: number}} Bin */

const [WIDTH, HEIGHT] = [260, 48]; // px

/**
 * @param {Bin[]} bins
 * @param {string} label accessible description
 * @returns {SVGSVGElement}
 */
export function sparkline(bins, label) {
  const [first, last] = [bins[0].time, bins[bins.length - 1].time];
  const least = Math.min(0, ...bins.map((bin) => bin.minimum));
  const most = Math.max(...bins.map((bin) => bin.maximum));
  const x = (/** @type {number} */ time) =>
    (last > first ? ((time - first) / (last - first)) * WIDTH : 0).toFixed(1);
  const y = (/** @type {number} */ value) =>
    (HEIGHT - 1 - ((value - least) / (most - least || 1)) * (HEIGHT - 2)).toFixed(1);
  const along = bins.map((bin) => `${x(bin.time)} ${y(bin.maximum)}`);
  const middle = bins.map((bin) => `${x(bin.time)} ${y(bin.mean)}`);
  const back = bins.toReversed().map((bin) => `${x(bin.time)} ${y(bin.minimum)}`);
  const viewBox = `0 0 ${WIDTH} ${HEIGHT}`;
  const svg = svgElement("svg", { viewBox, class: "sparkline", role: "img", "aria-label": label });
  svg.append(
    svgElement("path", { d: `M${[...along, ...back].join("L")}Z`, class: "sparkline-band" }),
    svgElement("path", { d: `M${middle.join("L")}`, class: "sparkline-line" }),
  );
  return svg;
}
