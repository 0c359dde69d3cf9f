// Icons of the transport. They are drawn, because many fonts lack these characters.

import { svgElement } from "../../element.js";

/** @type {Record<string, string>} paths in a square of 16 */
const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  previous: "M3 2.5h2v11H3zM13 2.5v11L5.5 8z",
  next: "M11 2.5h2v11h-2zM3 2.5v11L10.5 8z",
  back: "M10 3v10L4.5 8z",
  forward: "M6 3v10l5.5-5z",
};

/**
 * @param {keyof typeof PATHS} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const look = { viewBox: "0 0 16 16", width: 14, height: 14, fill: "currentColor", "aria-hidden": "true" };
  const svg = svgElement("svg", look);
  svg.append(svgElement("path", { d: PATHS[name] }));
  return svg;
}
