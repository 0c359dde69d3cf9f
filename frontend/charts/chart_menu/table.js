// What a chart shows, as a table: for reading, and as CSV.

/**
 * `note` says what the rows leave out. Times are texts in ISO 8601, UTC; numbers are in the unit that their column names.
 * @typedef {string|number|null} Cell
 * @typedef {{columns: string[], rows: Cell[][], note?: string}} Table
 */

// a spreadsheet would compute what begins like this; some take the full-width forms as well
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const QUOTED = /[",\r\n]/;

/**
 * @param {number} time seconds since the epoch
 * @returns {string} ISO 8601, UTC, to the millisecond
 */
export function isoTime(time) {
  return new Date(Math.round(time * 1000)).toISOString();
}

/**
 * @param {number} seconds
 * @returns {number} to the microsecond, as they are recorded
 */
export function microseconds(seconds) {
  return Math.round(seconds * 1e6) / 1e6;
}

/**
 * @param {Table} table
 * @returns {string} RFC 4180
 */
export function csvOf({ columns, rows }) {
  return [columns, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

/** @param {Cell} cell */
function csvCell(cell) {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * @param {Cell} cell
 * @returns {string} for reading
 */
export function cellText(cell) {
  if (cell === null) return "–";
  if (typeof cell === "string") return cell;
  return cell.toLocaleString("en-US", { maximumSignificantDigits: Number.isInteger(cell) ? 15 : 6 });
}
