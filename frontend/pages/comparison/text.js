// The summary of a comparison as text.

import { formatDifference, formatPercent, formatValue } from "../../formatting.js";
import { element } from "../../element.js";

/** @typedef {import("./parts.js").Comparison} Comparison */
/** @typedef {import("./parts.js").Prefix} Prefix */
/** @typedef {import("./parts.js").Fact} Fact */

const MOST_NAMED = 8;
const MOST_FACTS = 6;
const NOTABLE_KINDS = ["tag", "label", "release", "hardware", "version", "configuration"];

/** @param {number|null} ratio */
export function formatRatio(ratio) {
  return ratio === null ? "–" : `${ratio.toPrecision(3)} ×`;
}

/** @param {number} ratio "slower by 21 %" */
function shift(ratio) {
  return `${ratio > 1 ? "slower" : "faster"} by ${formatPercent(Math.abs(ratio - 1))}`;
}

/**
 * @param {HTMLElement} head what is compared, in short
 * @param {Prefix[]} prefixes
 * @param {Fact[]} differ
 */
export function finding(head, prefixes, differ) {
  const named = prefixes.filter(({ verdict }) => verdict === "slower" || verdict === "faster");
  const box = element("section", "finding card");
  box.setAttribute("role", "status");
  box.dataset.flagged = String(named.length);
  box.append(head);
  if (!named.length) box.append(element("p", "", "No prefix differs significantly. ", common(prefixes)));
  else box.append(list(named));
  const suspects = differ.filter(({ kind }) => NOTABLE_KINDS.includes(kind));
  if (suspects.length) box.append(element("p", "", "Changed from B to A: ", ...changed(suspects)));
  return box;
}

/** @param {Comparison} found */
export function durations({ a, figures }) {
  const { b, ratio } = figures[0];
  const words = element("p", "finding-duration");
  words.append(
    element("strong", "", `A took ${formatValue(a.seconds, "seconds")}`),
    `, B ${formatValue(b, "seconds")}`,
  );
  if (ratio !== null) words.append(`: ${formatRatio(ratio)}`);
  return words;
}

/** @param {Prefix[]} named */
function list(named) {
  const items = named.slice(0, MOST_NAMED).map((prefix) => {
    const swatch = element("i", "swatch");
    swatch.dataset.colorOf = prefix.name;
    const more = `${formatDifference(prefix.cost, "seconds")} of computing in all`;
    const item = element("li", "", swatch, element("strong", "", prefix.name));
    item.append(` is ${shift(/** @type {number} */ (prefix.ratio))}`, element("span", "muted", ` (${more})`));
    item.dataset.prefix = prefix.name;
    return item;
  });
  if (named.length > MOST_NAMED)
    items.push(element("li", "muted", `and ${named.length - MOST_NAMED} more below`));
  return element("ul", "finding-prefixes", ...items);
}

/** @param {Prefix[]} prefixes */
function common(prefixes) {
  const known = prefixes.map(({ ratio }) => ratio ?? NaN).filter((ratio) => !Number.isNaN(ratio));
  if (!known.length) return "There are too few tasks for more details.";
  const middle = known.sort((one, other) => one - other)[Math.floor(known.length / 2)];
  if (Math.abs(middle - 1) < 0.1 || known.length < 2)
    return "The differences are within the usual variation.";
  return `All prefixes together are ${shift(middle)}, so the environment is a more likely cause than the code.`;
}

/** @param {Fact[]} facts */
function changed(facts) {
  const shown = facts.slice(0, MOST_FACTS);
  const found = shown.map(({ name, a, b }) =>
    element("span", "tag", `${name}: ${b || "none"} → ${a || "none"}`),
  );
  const rest = facts.length > MOST_FACTS ? [`and ${facts.length - MOST_FACTS} more`] : [];
  return [...found, ...rest].flatMap((part) => [part, " "]);
}

/**
 * The test, stated.
 * @param {import("./parts.js").TestParameters} test
 * @param {string} usual of what a difference has a share at least
 * @param {string} several how several runs are compared; may be ""
 * @param {number} left number of prefixes that aren't shown
 */
export function statement(test, usual, several, left) {
  const rest = left ? ` ${left} more prefixes are not shown.` : "";
  return element(
    "p",
    "muted test",
    "Method: the successful tasks of a prefix are divided, in order of their starts, into up to 20 blocks, since tasks " +
      "that run at the same time aren't independent. Mann and Whitney's U test checks whether the blocks' medians " +
      `differ by more than ${formatPercent(test.margin)}, and by more than ${formatPercent(test.margin)} from the difference ` +
      "of all other prefixes, since a slower machine slows all of them. A difference is significant if p, adjusted for " +
      `the number of prefixes (Benjamini and Hochberg), is below ${test.level} and the difference is at least ` +
      `${formatPercent(test.least_share)} of ${usual}. Prefixes with fewer than ${test.fewest} tasks aren't ` +
      `tested.${several && ` ${several}`}${rest}`,
  );
}
