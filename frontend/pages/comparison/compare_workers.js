// The comparison of workers within a run: a summary, then differences, figures, prefixes, their lanes and memory.

import { element } from "../../element.js";
import { formatCountOf } from "../../formatting.js";
import { colorsOf, load, section } from "./parts.js";
import { differences, figures, prefixes } from "./tables.js";
import { Streams } from "./streams.js";
import { finding, statement } from "./text.js";

/** @typedef {import("./parts.js").WorkersComparison} WorkersComparison */

const SIZES = ["workers", "hosts"]; // facts that say how large the groups are

const place = /** @type {HTMLElement} */ (document.getElementById("comparison"));
void load(place, `/runs/${place.dataset.run}/compare-workers?${place.dataset.query}`, "workers", show);

/**
 * @param {HTMLElement} place
 * @param {WorkersComparison} found
 */
function show(place, found) {
  const { run, label, a, b, test, memory } = found;
  const streams = element("section", "");
  const causes = found.differ.filter(
    ({ kind, name }) => !SIZES.includes(name) && !(kind === "label" && name === label),
  );
  const usual = "B's computing time, in proportion to the threads' time of A and B";
  place.replaceChildren(
    finding(sizes(found), found.prefixes, causes),
    section("Environment", "differences", differences(found)),
    section("Figures", "figures", figures(found, 0)),
    section("Prefixes", "prefixes", prefixes(found), statement(test, usual, "", found.more_prefixes)),
    section("Over time", "streams", streams),
  );
  const sides = [a, b].map(({ value }) => ({ run, title: `${label} ${value}`, lanes: { label, value } }));
  new Streams(
    streams,
    sides,
    { title: "Memory of a worker, mean", ...memory },
    colorsOf(place, found.prefixes),
  );
}

/** @param {WorkersComparison} found */
function sizes({ a, b }) {
  const text = (/** @type {WorkersComparison["a"]} */ { workers, threads }) =>
    `${formatCountOf(workers, "worker")} with ${formatCountOf(threads, "thread")}`;
  return element("p", "finding-duration", element("strong", "", `A: ${text(a)}`), `, B: ${text(b)}`);
}
