// The spans of a file that contains each of them: unpacked once, and selected for each tile.

import { BLOCKS } from "../../contract.js";

/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("../../types.js").Numbers} Numbers */
/** @typedef {import("../../types.js").Texts} Texts */
/** @typedef {import("../../contract.js").NumberColumn} NumberColumn */
/** @typedef {import("../../contract.js").TextColumn} TextColumn */

const MICROSECONDS = 1e6;
const COLUMNS = Object.entries(BLOCKS.span);
const NUMBERS = /** @type {NumberColumn[]} */ (namesOf((type) => type !== "text"));
const TEXTS = /** @type {TextColumn[]} */ (namesOf((type) => type === "text"));

/**
 * @param {Block} packed of kind packed-span
 * @returns {Block} of kind span, in the same order
 */
export function unpackSpans(packed) {
  const [gaps, durations] = [packed.numbers("gap"), packed.numbers("duration")];
  const [starts, stops] = [new Float64Array(packed.rows), new Float64Array(packed.rows)];
  let time = 0; // µs: whole numbers, so that sums are exact
  for (let row = 0; row < packed.rows; row++) {
    starts[row] = (time += gaps[row]) / MICROSECONDS;
    stops[row] = (time += durations[row]) / MICROSECONDS;
  }
  return {
    ...packed,
    kind: "span",
    numbers: (name) => ({ start: starts, stop: stops })[String(name)] ?? packed.numbers(name),
  };
}

/**
 * The rows that overlap [start, stop).
 * @param {Block} block of kind span
 * @param {number} start
 * @param {number} stop
 * @returns {Block}
 */
export function spansWithin(block, start, stop) {
  const [starts, stops] = [block.numbers("start"), block.numbers("stop")];
  const rows = new Uint32Array(block.rows)
    .map((_, row) => row)
    .filter((row) => starts[row] < stop && stops[row] > start);
  if (rows.length === block.rows) return block;
  const numbers = new Map(NUMBERS.map((name) => [name, selected(block.numbers(name), rows)]));
  const texts = new Map(TEXTS.map((name) => [name, selectedTexts(block.texts(name), rows)]));
  return {
    ...block,
    rows: rows.length,
    numbers: (name) => numbers.get(name) ?? block.numbers(name),
    texts: (name) => texts.get(name) ?? block.texts(name),
  };
}

/**
 * @template {Numbers} Kind
 * @param {Kind} numbers
 * @param {Uint32Array} rows
 * @returns {Kind}
 */
function selected(numbers, rows) {
  const found = new /** @type {new (length: number) => Kind} */ (numbers.constructor)(rows.length);
  for (let place = 0; place < rows.length; place++) found[place] = numbers[rows[place]];
  return found;
}

/**
 * @param {Texts} texts
 * @param {Uint32Array} rows
 * @returns {Texts}
 */
function selectedTexts({ codes, values }, rows) {
  const found = selected(codes, rows);
  return { codes: found, values, at: (row) => values[found[row]] };
}

/** @param {(type: string) => boolean} isMeant */
function namesOf(isMeant) {
  return COLUMNS.filter(([, type]) => isMeant(type)).map(([name]) => name);
}
