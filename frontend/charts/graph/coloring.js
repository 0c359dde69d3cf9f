// What the nodes of a graph are coloured by, with its legend.

import { TASK_STATES } from "../../contract.js";
import { element } from "../../element.js";
import { formatCount, formatDuration } from "../../formatting.js";
import { isDarkTheme, shades, stops } from "../heat_map/colors.js";
import { logShade } from "../transfers/matrix_layout.js";
import { TIMES } from "./nodes.js";
import { ORDER, stateColor } from "./states.js";

/** @typedef {import("./nodes.js").Nodes} Nodes */
/** @typedef {import("./nodes.js").Instant} Instant */
/** @typedef {import("./nodes.js").Share} Share */
/** @typedef {import("./nodes.js").TimeName} TimeName */
/** @typedef {"state"|"prefix"|TimeName} ColoringName */

/** @type {Record<ColoringName, string>} */
export const COLORINGS = {
  state: "state at the playhead",
  ...mapped(TIMES, (text) => `time ${text}`),
  prefix: "prefix",
};

/**
 * @param {ColoringName} name
 * @param {Nodes} nodes
 * @param {Instant} instant
 * @param {import("../../timeline/model.js").Model} model
 * @returns {(node: number) => Share[]} the colours of a node
 */
export function sharesOf(name, nodes, instant, model) {
  if (name === "state") return instant.shares;
  if (name === "prefix") return (node) => [{ color: model.color(nodes.prefixes[node]), share: 1 }];
  const [least, most] = range(nodes, name);
  const colors = shades(stops(isDarkTheme())).map(([red, green, blue]) => `rgb(${red} ${green} ${blue})`);
  return (node) => {
    const value = nodes.seconds(node, name);
    return value ? [{ color: colors[logShade(value, least, most, colors.length)], share: 1 }] : [];
  };
}

/**
 * @param {ColoringName} name
 * @param {Nodes} nodes
 * @param {Instant} instant
 * @returns {(Node|string)[]}
 */
export function legendOf(name, nodes, instant) {
  if (name === "prefix") return [];
  if (name === "state") {
    return ORDER.filter((state) => instant.states.get(state)).map((state) => {
      const swatch = element("i", "swatch");
      swatch.style.backgroundColor = stateColor(state);
      return element(
        "span",
        "",
        swatch,
        `${TASK_STATES[state]} ${formatCount(instant.states.get(state) ?? 0)}`,
      );
    });
  }
  const [least, most] = range(nodes, name);
  if (!(most > 0)) return ["Nothing of this is known, or there was none."];
  const [low, high] = isDarkTheme() ? ["dark", "light"] : ["light", "dark"];
  return [
    least === most
      ? formatDuration(most)
      : `from ${formatDuration(least)} (${low}) to ${formatDuration(most)} (${high}), logarithmic`,
  ];
}

/** @param {Nodes} nodes @param {TimeName} name @returns {[number, number]} of the values above 0 */
function range(nodes, name) {
  let [least, most] = [Infinity, 0];
  for (let node = 0; node < nodes.count; node++) {
    const value = nodes.seconds(node, name) ?? 0;
    if (value <= 0) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [Math.max(least, most / 1e4), most];
}

/**
 * @template {string} Name
 * @param {Record<Name, string>} texts
 * @param {(text: string) => string} make
 * @returns {Record<Name, string>}
 */
function mapped(texts, make) {
  return /** @type {Record<Name, string>} */ (
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, make(/** @type {string} */ (text))]),
    )
  );
}
