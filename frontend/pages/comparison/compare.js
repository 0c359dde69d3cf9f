// The comparison of two runs: a summary, then differences, figures, prefixes, task streams and memory.
//
// For browser tests: <html data-ready="1"> once the comparison is shown.

import { element } from "../../element.js";
import { differences, figures, prefixes } from "./tables.js";
import { Streams } from "./streams.js";
import { finding, statement } from "./text.js";

/**
 * What /runs/compare answers (docs/architecture/http.md). `p`, `ratio`, `others` and `cost` are null without a test.
 * @typedef {{id: number, name: string, cluster: string, start: number, seconds: number, outcome: string,
 *   tags: Record<string, string>}} Run
 * @typedef {{name: string, unit: string, a: number|null, b: number|null, difference: number|null,
 *   ratio: number|null}} Figure
 * @typedef {{count: number, seconds: number, quantiles: number[], histogram: [number, number][], nbytes: number,
 *   transfer_seconds: number}} Side
 * @typedef {{name: string, color: string, verdict: string, a: Side|null, b: Side|null, ratio: number|null,
 *   others: number|null, p: number|null, cost: number|null}} Prefix
 * @typedef {{kind: string, name: string, a: string, b: string}} Fact
 * @typedef {{a: Run, b: Run[], figures: Figure[], prefixes: Prefix[], more_prefixes: number,
 *   memory: {width: number, lines: (number|null)[][]}, differ: Fact[], same: Fact[],
 *   test: {margin: number, level: number, fewest: number, least_share: number, quantiles: number[],
 *     bins_of_octave: number, shortest: number}}} Comparison
 */

const place = /** @type {HTMLElement} */ (document.getElementById("comparison"));
void open(place);

/** @param {HTMLElement} place */
async function open(place) {
  const response = await fetch(`/api/v1/runs/compare?${place.dataset.query}`).catch(() => null);
  if (!response?.ok) {
    const answer = await response?.json().catch(() => null);
    const why = typeof answer?.detail === "string" ? answer.detail : "The server can't be reached.";
    place.replaceChildren(element("p", "message error", `Comparing the runs failed: ${why}`));
  } else {
    show(place, await response.json());
  }
  document.documentElement.dataset.ready = "1";
}

/**
 * @param {HTMLElement} place
 * @param {Comparison} found
 */
function show(place, found) {
  const streams = element("section", "");
  const newest = found.b.length > 1 ? ` (B: only #${found.b[0].id}, the newest)` : "";
  place.replaceChildren(
    finding(found),
    section(`Environment${newest}`, "differences", differences(found)),
    section("Figures", "figures", figures(found, Number(place.dataset.median ?? 0))),
    section("Prefixes", "prefixes", prefixes(found), statement(found)),
    section(`Over time${newest}`, "streams", streams),
  );
  new Streams(streams, found);
}

/**
 * @param {string} title
 * @param {string} name
 * @param {...HTMLElement} content
 */
function section(title, name, ...content) {
  const made = element("section", "", element("h2", "", title), ...content);
  made.dataset.section = name;
  return made;
}
