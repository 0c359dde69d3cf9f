"""The browser reads what the server encodes, and refuses what is no block."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from observatory.wire.blocks import encode, number_column, text_column
from tests.frontend.timeline.make import BYTES_OF, text

DECODE = f"""async data => {{
  {BYTES_OF}
  const {{ decode }} = await import("/frontend/timeline/tiles/blocks.js");
  try {{
    return decode(bytesOf(data)).map(block => ({{
      kind: block.kind, rows: block.rows, meta: block.meta,
      numbers: ["a", "b", "c", "d", "e"].map(name => {{
        try {{ return [...block.numbers(name)]; }} catch {{ return null; }}
      }}),
      texts: (() => {{ try {{ const t = block.texts("t"); return [...t.codes].map((_, row) => t.at(row)); }}
        catch {{ return null; }} }})(),
    }}));
  }} catch (error) {{
    return `${{error.constructor.name}}: ${{error.message}}`;
  }}
}}"""


def test_every_type_of_column_arrives_as_it_was_encoded(page: Page) -> None:
    hostile = ["<img src=x onerror=alert(1)>", "ü", "", "ü"]
    data = encode(
        "span",
        4,
        [
            number_column("a", "f64", [1_700_000_000.123456, -0.5, 0, 1e300]),
            number_column("b", "f32", [0.5, 1, 2, -3]),
            number_column("c", "u32", [0, 1, 2, 2**32 - 1]),
            number_column("d", "i32", [-1, 0, 1, -(2**31)]),
            number_column("e", "u8", [0, 1, 2, 255]),
            text_column("t", hostile),
        ],
        {"level": 16},
    )
    (block,) = page.evaluate(DECODE, text(data))
    assert (block["kind"], block["rows"], block["meta"]) == ("span", 4, {"level": 16})
    assert block["numbers"] == [
        [1_700_000_000.123456, -0.5, 0, 1e300],
        [0.5, 1, 2, -3],
        [0, 1, 2, 2**32 - 1],
        [-1, 0, 1, -(2**31)],
        [0, 1, 2, 255],
    ]
    assert block["texts"] == hostile


def test_concatenated_blocks_come_in_their_order(page: Page) -> None:
    data = (
        encode("event", 0, []) + encode("busy", 1, [number_column("e", "u8", [7])]) + encode("extent", 0, [])
    )
    blocks = page.evaluate(DECODE, text(data))
    assert [block["kind"] for block in blocks] == ["event", "busy", "extent"]
    assert blocks[1]["numbers"][4] == [7]


GOOD = encode("busy", 2, [number_column("a", "f64", [1, 2]), text_column("t", ["x", "y"])])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<html>", "too few bytes"),
        (b"<!doctype html><html>", "no block at byte 0"),
        (GOOD[:-8], "cut off"),
        (GOOD + b"DOB2" + GOOD[4:], f"no block at byte {len(GOOD)}"),
        (GOOD.replace(b'"rows":2', b'"rows":3'), "lies outside of its block"),
        (GOOD.replace(b'"rows":2', b'"rows":-'), "header can't be read"),
        (GOOD.replace(b'"offset":0', b'"offset":4'), "lies outside of its block"),
        (GOOD.replace(b'"f64"', b'"f46"'), "unknown type f46"),
        (GOOD.replace(b'["x","y"]', b'["x"]    '), "refers to a text that it hasn't"),
        (GOOD.replace(b'["x","y"]', b'["x",17] '), "no list of texts"),
    ],
)
def test_what_is_no_block_is_refused_with_the_reason(page: Page, data: bytes, words: str) -> None:
    answer = page.evaluate(DECODE, text(data))
    assert isinstance(answer, str)
    assert answer.startswith("BlockError: ")
    assert words in answer
