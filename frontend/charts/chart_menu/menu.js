// The menu of a chart: what it shows as a table, as a CSV file, and as a picture, and where it stands.

import { element } from "../../element.js";
import { canvasesOf, pictureOf } from "./picture.js";
import { csvOf, isoTime } from "./table.js";
import { openTable } from "./table_dialog.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").ChartInstance} ChartInstance */
/** @typedef {import("../../types.js").View} View */
/** @typedef {{text: string, isPossible: () => boolean, act: () => void}} Action */

/**
 * @param {Chart} chart
 * @param {ChartInstance} instance
 * @param {HTMLElement} body of its panel
 * @param {() => View|null} view what was drawn last
 * @param {Action[]} actions with its panel
 * @returns {HTMLElement}
 */
export function chartMenu(chart, instance, body, view, actions) {
  const items = element("div", "menu-items");
  const summary = element("summary", "", "⋯");
  summary.setAttribute("aria-label", `${chart.title}: table, CSV, picture`);
  const menu = element("details", "menu chart-menu", summary, items);
  const add = (/** @type {string} */ text, /** @type {() => void} */ act) => {
    const button = element("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => {
      menu.open = false;
      act();
    });
    items.append(button);
    return button;
  };
  const { table } = instance;
  if (table) {
    const csv = () =>
      save(new Blob([csvOf(table.call(instance))], { type: "text/csv" }), fileName(chart, view(), "csv"));
    add("Show as table", () => openTable(chart.title, table.call(instance), csv));
    add("Download CSV", csv);
  }
  if (chart.quantity) addRuleLink(items, chart.quantity);
  const picture = add("Download PNG", () => void savePicture(chart, body, view()));
  const moves = actions.map(({ text, isPossible, act }) => ({ button: add(text, act), isPossible }));
  menu.addEventListener("toggle", () => {
    picture.disabled = canvasesOf(body).length === 0; // a chart without series, and a list, have none
    for (const { button, isPossible } of moves) button.disabled = !isPossible();
  });
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(/** @type {Node|null} */ (event.relatedTarget))) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    summary.focus();
  });
  return menu;
}

/**
 * Leads those who may make rules to the form of one, filled in with what the chart shows.
 * @param {HTMLElement} items
 * @param {string} quantity
 */
function addRuleLink(items, quantity) {
  const form = document.getElementById("observatory")?.dataset.newRule;
  if (!form) return;
  const link = element("a", "", "Alert me when this …");
  link.href = `${form}&quantity=${quantity}`;
  items.append(link);
}

/**
 * @param {Chart} chart
 * @param {HTMLElement} body
 * @param {View|null} view
 */
async function savePicture(chart, body, view) {
  if (!view) return;
  save(await pictureOf(body, chart.title, view, chart.place === "timeline"), fileName(chart, view, "png"));
}

/**
 * @param {Chart} chart
 * @param {View|null} view
 * @param {string} suffix
 */
function fileName({ name }, view, suffix) {
  const start = view ? `-${isoTime(view.start).slice(0, 19).replaceAll(":", "")}` : "";
  return `${name}${start}.${suffix}`;
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
function save(blob, name) {
  const link = element("a", "");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
