// A metric's recent values, small: its mean as a line in the band of its least and largest values.

/** @typedef {{time: number, mean: number, minimum: number, maximum: number}} Bin */

const [WIDTH, HEIGHT] = [260, 48]; // px

/**
 * @param {Bin[]} bins
 * @param {string} label what it shows, in words
 * @returns {SVGSVGElement}
 */
export function sparkline(bins, label) {
  const [first, last] = [bins[0].time, bins[bins.length - 1].time];
  const least = Math.min(0, ...bins.map((bin) => bin.minimum));
  const most = Math.max(...bins.map((bin) => bin.maximum));
  const x = (/** @type {number} */ time) => (last > first ? ((time - first) / (last - first)) * WIDTH : 0).toFixed(1);
  const y = (/** @type {number} */ value) =>
    (HEIGHT - 1 - ((value - least) / (most - least || 1)) * (HEIGHT - 2)).toFixed(1);
  const along = bins.map((bin) => `${x(bin.time)} ${y(bin.maximum)}`);
  const back = bins.toReversed().map((bin) => `${x(bin.time)} ${y(bin.minimum)}`);
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "sparkline", role: "img", "aria-label": label });
  svg.append(
    node("path", { d: `M${[...along, ...back].join("L")}Z`, class: "sparkline-band" }),
    node("path", { d: `M${bins.map((bin) => `${x(bin.time)} ${y(bin.mean)}`).join("L")}`, class: "sparkline-line" }),
  );
  return /** @type {SVGSVGElement} */ (svg);
}

/**
 * @param {string} name
 * @param {Record<string, string>} attributes
 */
function node(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}
