// A dialog with the table of a chart.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { cellText } from "./table.js";

/** @typedef {import("./table.js").Table} Table */

const LONG = 40; // characters: longer texts may be cut, and are shown on hover
const MOST = 1000; // rows in the page; the CSV file has all

/**
 * Shows the table until it is closed.
 * @param {string} title
 * @param {Table} table
 * @param {() => void} download saves it as CSV
 */
export function openTable(title, table, download) {
  const heading = element("h2", "", title);
  heading.id = "chart-table-title";
  const close = button("Close", () => dialog.close());
  const actions = element("div", "actions", close);
  if (table.rows.length) actions.append(button("CSV", download));
  const scroller = element(
    "div",
    "chart-table-scroller",
    table.rows.length ? tableElement(title, table) : nothing(),
  );
  scroller.tabIndex = 0; // so that the keyboard scrolls it
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-labelledby", heading.id);
  const dialog = element(
    "dialog",
    "chart-table-dialog",
    heading,
    element("p", "muted", words(table)),
    scroller,
    actions,
  );
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.addEventListener("close", () => dialog.remove());
  // keys of the page move the window; here they scroll
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

/** @param {Table} table */
function words({ rows, note = "" }) {
  if (!rows.length) return "";
  const shown =
    rows.length > MOST
      ? `The first ${formatCount(MOST)} of ${formatCount(rows.length)} rows; the CSV file has all.`
      : "";
  return [shown, note].filter(Boolean).join(" ");
}

/**
 * @param {string} title
 * @param {Table} table
 */
function tableElement(title, { columns, rows }) {
  const caption = element("caption", "hidden", title);
  const head = element("thead", "", rowElement("th", columns));
  const body = element("tbody", "", ...rows.slice(0, MOST).map((row) => rowElement("td", row)));
  return element("table", "chart-table", caption, head, body);
}

/**
 * @param {"td"|"th"} tag
 * @param {import("./table.js").Cell[]} cells
 */
function rowElement(tag, cells) {
  const row = element("tr", "");
  for (const cell of cells) {
    const text = cellText(cell);
    const made = element(tag, typeof cell === "number" ? "number" : "", text);
    if (text.length > LONG) made.title = text;
    if (tag === "th") made.setAttribute("scope", "col");
    row.append(made);
  }
  return row;
}

function nothing() {
  return element("p", "chart-empty", "The chart shows nothing in this window.");
}

/**
 * @param {string} text
 * @param {() => void} act
 */
function button(text, act) {
  const made = element("button", "", text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}
