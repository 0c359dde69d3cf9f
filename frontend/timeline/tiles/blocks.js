// Decodes blocks: batches of records of one kind as columns. observatory/wire/blocks.py describes the layout.

import { MAXIMUM_ROWS } from "../../contract.js";

/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("../../types.js").Numbers} Numbers */
/** @typedef {import("../../types.js").Texts} Texts */
/** @typedef {{name: string, type: string, offset?: number, values?: string[]}} ColumnHeader */

const MAGIC = 0x31424f44; // "DOB1", little-endian
const PREFIX_BYTES = 16;
/** @type {Record<string, {new (buffer: ArrayBuffer, offset: number, length: number): Numbers, BYTES_PER_ELEMENT: number}>} */
const ARRAYS = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i32: Int32Array, u8: Uint8Array };

/** Invalid bytes, or a block without the requested column. */
export class BlockError extends Error {}

/**
 * The blocks in `buffer`; their columns are views of it.
 * @param {ArrayBuffer} buffer
 * @returns {Block[]}
 */
export function decode(buffer) {
  const view = new DataView(buffer);
  const blocks = [];
  for (let position = 0; position < buffer.byteLength;) {
    if (buffer.byteLength - position < PREFIX_BYTES)
      throw new BlockError(`too few bytes for a block at ${position}`);
    if (view.getUint32(position, true) !== MAGIC) throw new BlockError(`no block at byte ${position}`);
    const headerLength = view.getUint32(position + 4, true);
    const columnsLength = view.getUint32(position + 8, true);
    const columnsStart = position + PREFIX_BYTES + headerLength;
    const end = columnsStart + columnsLength;
    if (headerLength % 8 || columnsLength % 8)
      throw new BlockError(`the block at byte ${position} is not padded`);
    if (end > buffer.byteLength) throw new BlockError(`the block at byte ${position} is cut off`);
    const header = parseHeader(new Uint8Array(buffer, position + PREFIX_BYTES, headerLength));
    blocks.push(makeBlock(header, buffer, columnsStart, columnsLength));
    position = end;
  }
  return blocks;
}

/**
 * @param {Uint8Array} bytes
 * @returns {{kind: string, rows: number, meta: Record<string, any>, columns: ColumnHeader[]}}
 */
function parseHeader(bytes) {
  let header;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new BlockError(`a block's header can't be read: ${error}`);
  }
  const valid =
    typeof header?.kind === "string" && Number.isInteger(header.rows) && Array.isArray(header.columns);
  if (!valid || header.rows < 0 || header.rows > MAXIMUM_ROWS) {
    throw new BlockError("a block's header has no valid kind, rows and columns");
  }
  return { kind: header.kind, rows: header.rows, meta: header.meta ?? {}, columns: header.columns };
}

/**
 * @param {{kind: string, rows: number, meta: Record<string, any>, columns: ColumnHeader[]}} header
 * @param {ArrayBuffer} buffer
 * @param {number} start of the columns, in bytes
 * @param {number} length of the columns, in bytes
 * @returns {Block}
 */
function makeBlock(header, buffer, start, length) {
  /** @type {Map<string, Numbers>} */
  const numbers = new Map();
  /** @type {Map<string, Texts>} */
  const texts = new Map();
  for (const column of header.columns) {
    const type = column.type === "text" ? Uint32Array : ARRAYS[column.type];
    if (!type) throw new BlockError(`column ${column.name} has the unknown type ${column.type}`);
    const { offset } = column;
    if (offset === undefined && column.type === "text") {
      if (column.values?.length !== header.rows)
        throw new BlockError(`column ${column.name} has no text for each row`);
      texts.set(
        column.name,
        makeTexts(
          column,
          Uint32Array.from(column.values, (_, row) => row),
        ),
      );
      continue;
    }
    const inside = offset !== undefined && Number.isInteger(offset) && offset >= 0 && offset % 8 === 0;
    if (!inside || offset + header.rows * type.BYTES_PER_ELEMENT > length) {
      throw new BlockError(`column ${column.name} lies outside of its block`);
    }
    const data = new type(buffer, start + offset, header.rows);
    if (column.type === "text") texts.set(column.name, makeTexts(column, /** @type {Uint32Array} */ (data)));
    else numbers.set(column.name, data);
  }
  return {
    kind: header.kind,
    rows: header.rows,
    meta: header.meta,
    numbers: (name) => numbers.get(name) ?? missing(header.kind, name),
    texts: (name) => texts.get(name) ?? missing(header.kind, name),
  };
}

/**
 * @param {ColumnHeader} column
 * @param {Uint32Array} codes
 * @returns {Texts}
 */
function makeTexts(column, codes) {
  const { values } = column;
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string")) {
    throw new BlockError(`column ${column.name} has no list of texts`);
  }
  if (codes.some((code) => code >= values.length)) {
    throw new BlockError(`column ${column.name} refers to a text that it hasn't`);
  }
  return { codes, values, at: (row) => values[codes[row]] };
}

/**
 * @param {string} kind
 * @param {string} name
 * @returns {never}
 */
function missing(kind, name) {
  throw new BlockError(`a block of kind ${kind} has no column ${name}`);
}
