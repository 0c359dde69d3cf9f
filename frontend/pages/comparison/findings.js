// What the tab Why? finds in both runs: what is new, gone, or costs more or less.

import { element } from "../../element.js";
import { formatDuration } from "../../formatting.js";
import { SITE } from "../../site.js";

/** @typedef {import("./parts.js").Comparison} Comparison */
/** @typedef {import("./parts.js").Schemas["ComparedFinding"]} Pair */

/** @type {Record<Pair["verdict"], string>} */
const VERDICTS = { new: "new", gone: "gone", more: "costs more", less: "costs less", same: "as before" };
/** @type {Record<string, string>} why a run has no findings to compare; else nobody looked at it yet */
const MISSING = {
  "too-large": "is too large to look at",
  gone: "was looked at after its records were deleted",
  failed: "couldn't be looked at",
};

const LOOKED_AT = ["found", "none", "marked"];

/** @param {Comparison} found */
export function comparedFindings({ a, b, findings }) {
  const missing = [
    ["A", findings.a],
    ["B", findings.b],
  ].filter(([, state]) => !LOOKED_AT.includes(state ?? ""));
  if (missing.length) {
    const why = missing.map(([run, state]) => `${run} ${MISSING[state ?? ""] ?? "wasn't looked at yet"}`);
    return element("p", "muted", `Nothing can be compared: ${why.join(", ")}.`);
  }
  if (!findings.pairs.length) return element("p", "muted", "Nothing stands out in either run.");
  return element("ul", "compared-findings", ...findings.pairs.map((pair) => item(pair, a.id, b[0].id)));
}

/**
 * @param {Pair} pair
 * @param {number} a id of the run
 * @param {number} b
 */
function item({ verdict, a: ofA, b: ofB }, a, b) {
  const made = element("li", "", element("span", `finding-verdict is-${verdict}`, VERDICTS[verdict]), " ");
  made.dataset.verdict = verdict;
  if (ofA) made.append(linked(ofA.sentence, a));
  else if (ofB) made.append(linked(ofB.sentence, b));
  const costs = [ofA, ofB].map((side, place) =>
    side ? `${"AB"[place]}: ${formatDuration(side.thread_seconds)} of threads` : "",
  );
  made.append(element("span", "muted", ` ${costs.filter(Boolean).join(", ")}`));
  if (ofA && ofB) made.append(" ", linked("B's finding", b));
  return made;
}

/**
 * A link to the tab Why? of a run.
 * @param {string} text
 * @param {number} run
 */
function linked(text, run) {
  const made = element("a", "", text);
  made.href = `${SITE}/runs/${run}/?tab=why`;
  return made;
}
