// What a comparison comes to, in paragraph, and how its values are written.

import { formatDifference, formatPercent, formatValue } from "../../formatting.js";
import { element } from "../../element.js";

/** @typedef {import("./compare.js").Comparison} Comparison */
/** @typedef {import("./compare.js").Prefix} Prefix */

const MOST_NAMED = 8;
const MOST_FACTS = 6;
const NOTABLE_KINDS = ["tag", "hardware", "version", "configuration"];

/** @param {number|null} ratio */
export function formatRatio(ratio) {
  return ratio === null ? "–" : `${ratio.toPrecision(3)} ×`;
}

/** @param {number} ratio "slower by 21 %" */
function shift(ratio) {
  return `${ratio > 1 ? "slower" : "faster"} by ${formatPercent(Math.abs(ratio - 1))}`;
}

/** @param {Comparison} found */
export function finding(found) {
  const named = found.prefixes.filter(({ verdict }) => verdict === "slower" || verdict === "faster");
  const box = element("section", "finding card");
  box.setAttribute("role", "status");
  box.dataset.flagged = String(named.length);
  box.append(duration(found));
  if (!named.length) box.append(element("p", "", "No prefix differs significantly. ", common(found.prefixes)));
  else box.append(list(named));
  const suspects = found.differ.filter(({ kind }) => NOTABLE_KINDS.includes(kind));
  if (suspects.length) box.append(element("p", "", "From B to A there changed: ", ...changed(suspects)));
  return box;
}

/** @param {Comparison} found */
function duration({ a, figures }) {
  const { b, ratio } = figures[0];
  const paragraph = element("p", "finding-duration");
  paragraph.append(element("strong", "", `A took ${formatValue(a.seconds, "seconds")}`), `, B ${formatValue(b, "seconds")}`);
  if (ratio !== null) paragraph.append(`: ${formatRatio(ratio)}`);
  return paragraph;
}

/** @param {Prefix[]} named */
function list(named) {
  const items = named.slice(0, MOST_NAMED).map((prefix) => {
    const swatch = element("i", "swatch");
    swatch.style.backgroundColor = prefix.color;
    const more = `${formatDifference(prefix.cost, "seconds")} of computing in all`;
    const item = element("li", "", swatch, element("strong", "", prefix.name));
    item.append(` is ${shift(/** @type {number} */ (prefix.ratio))}`, element("span", "muted", ` (${more})`));
    item.dataset.prefix = prefix.name;
    return item;
  });
  if (named.length > MOST_NAMED) items.push(element("li", "muted", `and ${named.length - MOST_NAMED} more below`));
  return element("ul", "finding-prefixes", ...items);
}

/** @param {Prefix[]} prefixes */
function common(prefixes) {
  const known = prefixes.map(({ ratio }) => ratio ?? NaN).filter((ratio) => !Number.isNaN(ratio));
  if (!known.length) return "There are too few tasks to say more.";
  const middle = known.sort((one, other) => one - other)[Math.floor(known.length / 2)];
  if (Math.abs(middle - 1) < 0.1 || known.length < 2) return "That is the usual variation between runs.";
  return `All together are ${shift(middle)}: the cause is more likely the environment than the code.`;
}

/** @param {import("./compare.js").Fact[]} facts */
function changed(facts) {
  const shown = facts.slice(0, MOST_FACTS);
  const found = shown.map(({ name, a, b }) => element("span", "tag", `${name}: ${b || "none"} → ${a || "none"}`));
  const rest = facts.length > MOST_FACTS ? [`and ${facts.length - MOST_FACTS} more`] : [];
  return [...found, ...rest].flatMap((part) => [part, " "]);
}

/** The test, stated. @param {Comparison} found */
export function statement({ test, b, more_prefixes }) {
  const several =
    b.length > 1 ? " A is tested against each run of B, and twice the median of the p values is used." : "";
  const rest = more_prefixes ? ` ${more_prefixes} more prefixes aren't shown.` : "";
  return element(
    "p",
    "muted test",
    "How it is tested: the tasks of a prefix that succeeded are cut, in order of their start, into up to 20 blocks, " +
      "since tasks that run at the same time aren't independent. Mann and Whitney's U says whether the blocks' medians " +
      `differ by more than ${formatPercent(test.margin)}, and by more than ${formatPercent(test.margin)} from what all other prefixes ` +
      "differ by, since a slower machine slows them all. A prefix differs where p, adjusted for the number of prefixes " +
      `(Benjamini and Hochberg), is below ${test.level} and it makes at least ${formatPercent(test.least_share)} of what B ` +
      `computed. With fewer than ${test.fewest} tasks nothing is said.${several}${rest}`,
  );
}
