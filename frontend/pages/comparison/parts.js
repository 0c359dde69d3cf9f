// What the pages of comparisons have in common: loading, sections, and the colours of prefixes.

import { followColorChoice } from "../../charts/drawing/color_choice.js";
import { element } from "../../element.js";
import { SITE } from "../../site.js";
import { PrefixColors } from "../../timeline/colors/prefix_colors.js";

/**
 * What comparisons of runs and of workers answer.
 * @typedef {import("../../types.js").Schemas} Schemas
 * @typedef {Schemas["Comparison"]} Comparison
 * @typedef {Schemas["WorkersComparison"]} WorkersComparison
 * @typedef {Schemas["ComparedRun"]} Run
 * @typedef {Schemas["ComparedPrefix"]} Prefix
 * @typedef {Schemas["PrefixSide"]} Side
 * @typedef {Schemas["ComparedFact"]} Fact
 * @typedef {Schemas["TestParameters"]} TestParameters
 */

/**
 * Shows what a URL of the API answers, or why it doesn't. For browser tests: <html data-ready="1"> once that is done.
 * @template Answer
 * @param {HTMLElement} place
 * @param {string} path below /api/v1
 * @param {string} what is compared
 * @param {(place: HTMLElement, found: Answer) => void} show
 */
export async function load(place, path, what, show) {
  const response = await fetch(`${SITE}/api/v1${path}`).catch(() => null);
  if (!response?.ok) {
    const answer = await response?.json().catch(() => null);
    const why = typeof answer?.detail === "string" ? answer.detail : "The server can't be reached.";
    place.replaceChildren(element("p", "message error", `Comparing the ${what} failed: ${why}`));
  } else {
    show(place, await response.json());
  }
  document.documentElement.dataset.ready = "1";
}

/**
 * The colours that a prefix has everywhere on the page, on both sides.
 * @param {HTMLElement} place
 * @param {Prefix[]} prefixes
 */
export function colorsOf(place, prefixes) {
  const colors = new PrefixColors();
  const seconds = (/** @type {Prefix} */ { a, b }) => (a?.seconds ?? 0) + (b?.seconds ?? 0);
  colors.add(
    prefixes.map((prefix, id) => ({ id, name: prefix.name, color: prefix.color, seconds: seconds(prefix) })),
  );
  followColorChoice((backgrounds, isExact) => {
    colors.setBackgrounds(backgrounds);
    colors.isExact = isExact;
    for (const swatch of place.querySelectorAll("[data-color-of]")) {
      const { style, dataset } = /** @type {HTMLElement} */ (swatch);
      style.backgroundColor = colors.of(dataset.colorOf ?? "") ?? "";
    }
  });
  return colors;
}

/**
 * @param {string} title
 * @param {string} name
 * @param {...HTMLElement} content
 */
export function section(title, name, ...content) {
  const made = element("section", "", element("h2", "", title), ...content);
  made.dataset.section = name;
  return made;
}
