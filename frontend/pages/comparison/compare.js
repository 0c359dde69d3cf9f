// The comparison of two runs: a summary, then differences, figures, prefixes, task streams and memory.

import { element } from "../../element.js";
import { comparedFindings } from "./findings.js";
import { colorsOf, load, section } from "./parts.js";
import { differences, figures, prefixes } from "./tables.js";
import { Streams } from "./streams.js";
import { durations, finding, statement } from "./text.js";

/** @typedef {import("./parts.js").Comparison} Comparison */

const place = /** @type {HTMLElement} */ (document.getElementById("comparison"));
void load(place, `/runs/compare?${place.dataset.query}`, "runs", show);

/**
 * @param {HTMLElement} place
 * @param {Comparison} found
 */
function show(place, found) {
  const { a, b, test } = found;
  const streams = element("section", "");
  const newest = b.length > 1 ? ` (B: only #${b[0].id}, the newest)` : "";
  const several =
    b.length > 1 ? "A is tested against each run of B; p is twice the median of the results." : "";
  place.replaceChildren(
    finding(durations(found), found.prefixes, found.differ),
    section(`Findings${newest}`, "findings", comparedFindings(found)),
    section(`Environment${newest}`, "differences", differences(found)),
    section("Figures", "figures", figures(found, Number(place.dataset.median ?? 0))),
    section(
      "Prefixes",
      "prefixes",
      prefixes(found),
      statement(test, "B's computing time", several, found.more_prefixes),
    ),
    section(`Over time${newest}`, "streams", streams),
  );
  const sides = [a, b[0]].map((run) => ({ run, title: `${run.name} #${run.id}` }));
  new Streams(
    streams,
    sides,
    { title: "Memory of all workers", ...found.memory },
    colorsOf(place, found.prefixes),
  );
}
