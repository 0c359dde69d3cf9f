// The page of an error: charts of its workers' last minutes.

import { LastMinute, readMinute } from "../../charts/errors/last_minute.js";
import "../site/copying.js";

for (const element of document.querySelectorAll("[data-chart]")) {
  const table = element.parentElement?.querySelector("table[data-memory]");
  if (table)
    new LastMinute(/** @type {HTMLElement} */ (element), readMinute(/** @type {HTMLTableElement} */ (table)));
}
