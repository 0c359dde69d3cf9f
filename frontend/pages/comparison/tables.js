// Tables of a comparison: figures, prefixes, and environment.

import { distribution } from "../../charts/comparison/distribution.js";
import { element } from "../../element.js";
import { formatCount, formatDifference, formatValue } from "../../formatting.js";
import { formatRatio } from "./text.js";

/** @typedef {import("./parts.js").Comparison} Comparison */
/** @typedef {import("./parts.js").Prefix} Prefix */
/** @typedef {import("./parts.js").Fact} Fact */

const FIRST_PREFIXES = 50;
const NOTABLE = 0.05; // share: a ratio farther from 1 is in bold letters

/**
 * @param {string[]} heads those that begin with "#" are of numbers
 * @param {HTMLTableRowElement[]} rows
 */
function table(heads, rows) {
  const cells = heads.map((head) =>
    element("th", head.startsWith("#") ? "number" : "", head.replace("#", "")),
  );
  return element(
    "table",
    "list",
    element("thead", "", element("tr", "", ...cells)),
    element("tbody", "", ...rows),
  );
}

/**
 * @param {string} label
 * @param {string} text
 * @param {string} name its class
 */
function cell(label, text, name = "number") {
  const made = element("td", name, text);
  made.dataset.label = label;
  return made;
}

/**
 * @param {Pick<Comparison, "figures">} found
 * @param {number} median of so many runs; 0: of one
 */
export function figures(found, median) {
  const other = median > 1 ? `B, the median of ${median}` : "B";
  const rows = found.figures.map(({ name, unit, a, b, difference, ratio }) => {
    const row = element("tr", "", element("td", "name", name));
    row.append(
      cell("A", formatValue(a, unit)),
      cell(other, formatValue(b, unit)),
      cell("A − B", formatDifference(difference, unit)),
    );
    row.append(cell("A / B", formatRatio(ratio), isNotable(ratio) ? "number notable" : "number"));
    row.dataset.figure = name;
    return row;
  });
  const made = table(["", "#A", `#${other}`, "#A − B", "#A / B"], rows);
  made.classList.add("compact");
  return made;
}

/** @param {number|null} ratio */
function isNotable(ratio) {
  return ratio !== null && Math.abs(ratio - 1) > NOTABLE;
}

/** @param {Pick<Comparison, "prefixes"|"test">} found */
export function prefixes(found) {
  if (!found.prefixes.length) return element("p", "muted", "No computed tasks in A or B.");
  const rows = found.prefixes.map((prefix) => prefixRow(prefix, found.test));
  for (const row of rows.slice(FIRST_PREFIXES)) row.hidden = true;
  const heads = [
    "Prefix",
    "Durations of tasks: A above, B below",
    "#Median",
    "#Tasks",
    "#Computing",
    "#Results",
    "#Transfers",
    "#p",
  ];
  const made = element("div", "", table(heads, rows));
  if (rows.length > FIRST_PREFIXES) {
    const button = element("button", "", `Show ${formatCount(rows.length - FIRST_PREFIXES)} more prefixes`);
    button.type = "button";
    button.addEventListener("click", () => {
      for (const row of rows) row.hidden = false;
      button.remove();
    });
    made.append(button);
  }
  return made;
}

/** @type {Record<string, string>} */
const VERDICTS = { "only in a": "only in A", "only in b": "only in B", "": "no significant difference" };

/**
 * @param {Prefix} prefix
 * @param {Comparison["test"]} test
 */
function prefixRow(prefix, test) {
  const { a, b, verdict, ratio, p } = prefix;
  const swatch = element("i", "swatch");
  swatch.dataset.colorOf = prefix.name;
  const isNamed = verdict === "slower" || verdict === "faster";
  const words = isNamed ? `${verdict}: ${formatRatio(ratio)}` : (VERDICTS[verdict] ?? verdict);
  const verdictWords = element("small", isNamed ? `verdict ${verdict}` : "", words);
  const name = element("td", "name", swatch, prefix.name, verdictWords);
  const drawn = element("td", "distribution", distribution(a, b, test));
  const row = element("tr", isNamed ? "flagged" : "", name, drawn);
  row.append(
    pair("Median", a?.quantiles[2], b?.quantiles[2], "seconds"),
    pair("Tasks", a?.count, b?.count, "count"),
    pair("Computing", a?.seconds, b?.seconds, "seconds"),
    pair("Results", a?.nbytes, b?.nbytes, "bytes"),
    pair("Transfers", a?.transfer_seconds, b?.transfer_seconds, "seconds"),
    cell("p", p === null ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3)),
  );
  row.dataset.prefix = prefix.name;
  row.dataset.verdict = verdict;
  return row;
}

/**
 * A's value above B's.
 * @param {string} label
 * @param {number|undefined} a
 * @param {number|undefined} b
 * @param {string} unit
 */
function pair(label, a, b, unit) {
  const made = cell(label, formatValue(a, unit));
  made.append(element("small", "", formatValue(b, unit)));
  return made;
}

/** @param {Pick<Comparison, "differ"|"same">} found */
export function differences({ differ, same }) {
  const made = element("div", "");
  if (differ.length) made.append(facts(differ));
  else made.append(element("p", "muted", "No known differences."));
  if (same.length) {
    const more = `${formatCount(same.length)} the same in both`;
    made.append(element("details", "more", element("summary", "", more), facts(same)));
  }
  return made;
}

/** @param {Fact[]} facts */
function facts(facts) {
  const rows = facts.map(({ kind, name, a, b }) => {
    const row = element("tr", "", element("td", "name", name, element("small", "", kind)));
    row.append(cell("A", a || "–", ""), cell("B", b || "–", ""));
    row.dataset.fact = name;
    return row;
  });
  return table(["", "A", "B"], rows);
}
