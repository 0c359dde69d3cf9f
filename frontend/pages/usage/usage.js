// The page of usage: bars of each day, above the tables.
//
// For browser tests: <html data-ready="1"> once they are drawn.

import { UsageBars } from "../../charts/usage/usage_bars.js";
import { element } from "../../element.js";
import { SITE } from "../../site.js";

const place = /** @type {HTMLElement} */ (document.getElementById("usage-chart"));
void open(place);

/** @param {HTMLElement} place */
async function open(place) {
  const response = await fetch(`${SITE}/api/v1/usage?${place.dataset.query}`).catch(() => null);
  if (response?.ok) await new UsageBars(place, await response.json()).draw();
  else place.replaceChildren(element("p", "muted", "The chart can't be loaded; the tables have the same."));
  document.documentElement.dataset.ready = "1";
}
