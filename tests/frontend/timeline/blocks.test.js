// The browser reads what the server encodes, and refuses what is no block.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { BlockError } from "../../../frontend/timeline/tiles/blocks.js";
import { decoded, encode, join } from "../make.js";

const COLUMNS = /** @type {[string, string, any[]][]} */ ([
  ["start", "f64", [1_700_000_000.123456, -0.5, 0, 1e300]],
  ["seconds", "f32", [0.5, 1, 2, -3]],
  ["lane", "u32", [0, 1, 2, 2 ** 32 - 1]],
  ["worker", "i32", [-1, 0, 1, -(2 ** 31)]],
  ["action", "u8", [0, 1, 2, 255]],
  ["key", "text", ["<img src=x onerror=alert(1)>", "ü", "", "ü"]],
  ["typename", "text", ["a", "ü", "", "b"]],
]);
const FROM_SERVER = readFileSync(new URL("../blocks.bin", import.meta.url));

for (const [origin, data] of /** @type {const} */ ([
  ["the server", FROM_SERVER],
  ["these tests", encode("span", 4, COLUMNS, { level: 16 })],
])) {
  test(`every type of column arrives as it was encoded by ${origin}`, () => {
    const [block] = decoded(data);
    assert.deepEqual([block.kind, block.rows, block.meta], ["span", 4, { level: 16 }]);
    for (const [name, type, values] of COLUMNS) {
      const column = /** @type {any} */ (name);
      const found =
        type === "text" ? values.map((_, row) => block.texts(column).at(row)) : [...block.numbers(column)];
      assert.deepEqual(found, values);
    }
  });
}

test("concatenated blocks come in their order", () => {
  const blocks = decoded(
    encode("event", 0, []),
    encode("busy", 1, [["action", "u8", [7]]]),
    encode("extent", 0, []),
  );
  assert.deepEqual(
    blocks.map((block) => block.kind),
    ["event", "busy", "extent"],
  );
  assert.deepEqual([...blocks[1].numbers("action")], [7]);
});

const GOOD = encode("busy", 2, [
  ["start", "f64", [1, 2]],
  ["key", "text", ["x", "y"]],
]);
const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);

/** A block with another text in its header, as long. @param {string} from @param {string} to */
function changed(from, to, block = GOOD) {
  const text = Buffer.from(block).toString("latin1");
  assert.ok(text.includes(from) && from.length === to.length);
  return Uint8Array.from(Buffer.from(text.replace(from, to), "latin1"));
}

for (const [data, words] of /** @type {[Uint8Array, string][]} */ ([
  [bytes("<html>"), "too few bytes"],
  [bytes("<!doctype html><html>"), "no block at byte 0"],
  [GOOD.slice(0, -8), "cut off"],
  [join(GOOD, bytes("DOB2"), GOOD.slice(4)), `no block at byte ${GOOD.length}`],
  [changed('"rows":2', '"rows":3'), "lies outside of its block"],
  [changed('"rows":2', '"rows":-'), "header can't be read"],
  [changed('"offset":0', '"offset":4'), "lies outside of its block"],
  [changed('"f64"', '"f46"'), "unknown type f46"],
  [changed('["x","y"]', '["x"]    '), "refers to a text that it hasn't"],
  [changed('["x","y"]', '["x",17] '), "no list of texts"],
  [changed('"offset":0', '"ignore":0'), "lies outside of its block"],
  [
    changed('"offset":0', '"ignore":0', encode("busy", 2, [["key", "text", ["x", "x"]]])),
    "no text for each row",
  ],
])) {
  test(`what is no block is refused with the reason: ${words}`, () => {
    assert.throws(
      () => decoded(data),
      (error) => error instanceof BlockError && error.message.includes(words),
    );
  });
}
