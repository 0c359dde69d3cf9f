// The history of runs with one name: a chart of all of them, above a table of some.

import { History } from "../../charts/comparison/history.js";

const place = /** @type {HTMLElement|null} */ (document.querySelector("[data-history]"));
const points = document.getElementById("history-points")?.textContent;
if (place && points) new History(place, JSON.parse(points));
