// The history of runs with one name: a chart of the table below it.

import { History, readHistory } from "../../charts/comparison/history.js";

const place = /** @type {HTMLElement|null} */ (document.querySelector("[data-history]"));
const table = /** @type {HTMLTableElement|null} */ (document.querySelector("table#history"));
if (place && table) new History(place, readHistory(table));
