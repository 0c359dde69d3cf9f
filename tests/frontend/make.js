// Test data: what a server answers, with blocks encoded as the server encodes them.

import { BLOCKS } from "../../frontend/contract.js";
import { decode } from "../../frontend/timeline/tiles/blocks.js";

/** When the cluster of these tests started. */
export const FIRST = 1_700_000_000;

export const INFO = {
  id: 1,
  name: "test",
  started: FIRST,
  first: FIRST,
  last: FIRST + 1000,
  committed: FIRST + 1000,
  version: 1,
  ended: null,
  end_reason: "",
  now: FIRST + 1000,
  identity_interval: 1,
  metrics_interval: 5,
  band: 64,
  minimum_level: 10,
  minimum_span_level: 10,
  maximum_level: 36,
  target: null,
  has_agent: true,
  not_recorded: [],
  task_count: 1,
  error_count: 0,
  worker_count: 1,
  unheard: 0,
};

const ARRAYS = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i32: Int32Array, u8: Uint8Array };

/**
 * The bytes of a block. tests/wire/test_blocks.py compares them with the server's by the file blocks.bin.
 * @param {string} kind
 * @param {number} rows
 * @param {[name: string, type: string, values: (number|string)[]][]} columns
 * @param {object} meta
 * @returns {Uint8Array}
 */
export function encode(kind, rows, columns, meta = {}) {
  const parts = [];
  const described = [];
  let offset = 0;
  for (const [name, type, values] of columns) {
    const texts = type === "text" ? [...new Set(values)] : null;
    const numbers = texts ? values.map((value) => texts.indexOf(value)) : values;
    const bytes = new Uint8Array(new ARRAYS[texts ? "u32" : type](numbers).buffer);
    const part = padded(bytes, 0);
    described.push({ name, type, offset, ...(texts ? { values: texts } : {}) });
    parts.push(part);
    offset += part.length;
  }
  const header = padded(
    new TextEncoder().encode(JSON.stringify({ kind, rows, meta, columns: described })),
    32,
  );
  const prefix = new DataView(new ArrayBuffer(16));
  prefix.setUint32(0, 0x31424f44, true);
  prefix.setUint32(4, header.length, true);
  prefix.setUint32(8, offset, true);
  return join(new Uint8Array(prefix.buffer), header, ...parts);
}

/** @param {Uint8Array} bytes @param {number} filler */
function padded(bytes, filler) {
  const whole = new Uint8Array(Math.ceil(bytes.length / 8) * 8).fill(filler);
  whole.set(bytes);
  return whole;
}

/** @param {...Uint8Array} parts */
export function join(...parts) {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

/**
 * A block of a kind that the server declares.
 * @param {string} kind
 * @param {Record<string, number|string>[]} rows by column
 * @param {object} meta
 */
export function block(kind, rows, meta = {}) {
  const columns = Object.entries(BLOCKS[kind]).map(([name, type]) => {
    return /** @type {[string, string, any[]]} */ ([name, type, rows.map((row) => row[name])]);
  });
  return encode(kind, rows.length, columns, meta);
}

/**
 * @param {[lane: number, prefix: number, action: number, status: number, start: number, stop: number][]} rows
 * @param {string} layer
 */
export function spans(rows, layer = "spans") {
  const named = rows.map(([lane, prefix, action, status, start, stop], number) => {
    return { lane, prefix, action, status, start, stop, nbytes: 28, key: `inc-${number}`, typename: "int" };
  });
  return block("span", named, { layer });
}

/**
 * @param {number} level
 * @param {number} index
 * @param {[lane: number, bin: number, prefix: number, action: number, seconds: number, count: number][]} rows
 */
export function busy(level, index, rows) {
  const named = rows.map(([lane, bin, prefix, action, seconds, count]) => {
    return { lane, bin, prefix, action, seconds, count };
  });
  return block("busy", named, { level, index });
}

/** @param {[time: number, kind: string, detail?: object, worker?: number][]} rows */
export function events(rows) {
  const named = rows.map(([time, kind, detail = {}, worker = -1]) => {
    return { time, worker, kind, message: "", detail: JSON.stringify(detail) };
  });
  return block("event", named);
}

/** @param {string} layer @param {[series: number, time: number, value: number][]} rows */
export function bins(layer, rows) {
  const named = rows.map(([series, time, value]) => {
    return { series, time, min: value, max: value, mean: value, last: value, count: 1 };
  });
  return block("bin", named, { layer });
}

/** @param {[time: number, worker: number, prefix: number, source: number, stack: number, count: number][]} rows */
export function profile(rows) {
  const named = rows.map(([time, worker, prefix, source, stack, count]) => {
    return { time, worker, prefix, source, stack, count };
  });
  return block("profile", named);
}

/** @param {Record<number, string>} frames */
export function stacks(frames) {
  return block(
    "stack",
    Object.entries(frames).map(([id, text]) => ({ id: Number(id), frames: text })),
  );
}

/** @param {number} sequence @param {object} changes */
export function extent(sequence = 1, changes = {}) {
  const { committed, first, last, version, ended, end_reason } = INFO;
  return encode("extent", 0, [], {
    committed,
    first,
    last,
    version,
    ended,
    end_reason,
    sequence,
    ...changes,
  });
}

/** @param {...Uint8Array} parts @returns the blocks in them */
export function decoded(...parts) {
  return decode(/** @type {ArrayBuffer} */ (join(...parts).buffer));
}
