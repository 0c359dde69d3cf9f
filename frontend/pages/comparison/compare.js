// The comparison of two runs: a summary, then differences, figures, prefixes, task streams and memory.
//
// For browser tests: <html data-ready="1"> once the comparison is shown.

import { followColorChoice } from "../../charts/drawing/color_choice.js";
import { element } from "../../element.js";
import { SITE } from "../../site.js";
import { PrefixColors } from "../../timeline/colors/prefix_colors.js";
import { comparedFindings } from "./findings.js";
import { differences, figures, prefixes } from "./tables.js";
import { Streams } from "./streams.js";
import { finding, statement } from "./text.js";

/**
 * What /runs/compare answers.
 * @typedef {import("../../types.js").Schemas} Schemas
 * @typedef {Schemas["Comparison"]} Comparison
 * @typedef {Schemas["ComparedRun"]} Run
 * @typedef {Schemas["ComparedPrefix"]} Prefix
 * @typedef {Schemas["PrefixSide"]} Side
 * @typedef {Schemas["ComparedFact"]} Fact
 */

const place = /** @type {HTMLElement} */ (document.getElementById("comparison"));
void open(place);

/** @param {HTMLElement} place */
async function open(place) {
  const response = await fetch(`${SITE}/api/v1/runs/compare?${place.dataset.query}`).catch(() => null);
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
    section(`Findings${newest}`, "findings", comparedFindings(found)),
    section(`Environment${newest}`, "differences", differences(found)),
    section("Figures", "figures", figures(found, Number(place.dataset.median ?? 0))),
    section("Prefixes", "prefixes", prefixes(found), statement(found)),
    section(`Over time${newest}`, "streams", streams),
  );
  new Streams(streams, found, colorsOf(place, found));
}

/**
 * The colours that a prefix has everywhere on the page, in both runs.
 * @param {HTMLElement} place
 * @param {Comparison} found
 */
function colorsOf(place, { prefixes }) {
  const colors = new PrefixColors();
  const seconds = (/** @type {Prefix} */ { a, b }) => (a?.seconds ?? 0) + (b?.seconds ?? 0);
  colors.add(prefixes.map((prefix, id) => ({ id, name: prefix.name, color: prefix.color, seconds: seconds(prefix) })));
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
function section(title, name, ...content) {
  const made = element("section", "", element("h2", "", title), ...content);
  made.dataset.section = name;
  return made;
}
