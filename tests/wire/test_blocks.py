from __future__ import annotations

import contextlib
import json
import struct
from array import array
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.wire.blocks import PREFIX, BlockError, decode, encode, number_column, text_column

FOR_THE_FRONTEND = Path(__file__).parents[1] / "frontend/blocks.bin"
"""a block that tests/frontend/timeline/blocks.test.js decodes"""

texts = st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=30)


@given(texts, st.lists(st.floats(allow_nan=False), max_size=30))
def test_what_is_encoded_is_decoded(keys: list[str], numbers: list[float]) -> None:
    first = encode("span", len(keys), [text_column("key", keys)], {"level": 3})
    second = encode("bin", len(numbers), [number_column("value", "f64", numbers)])
    spans, bins = decode(first + second)
    assert (spans.kind, spans.rows, spans.meta, spans.list("key")) == ("span", len(keys), {"level": 3}, keys)
    assert (bins.kind, bins.list("value")) == ("bin", numbers)


def test_the_block_that_the_frontends_tests_decode_is_what_the_server_encodes() -> None:
    encoded = encode(
        "span",
        4,
        [
            number_column("start", "f64", [1_700_000_000.123456, -0.5, 0, 1e300]),
            number_column("seconds", "f32", [0.5, 1, 2, -3]),
            number_column("lane", "u32", [0, 1, 2, 2**32 - 1]),
            number_column("worker", "i32", [-1, 0, 1, -(2**31)]),
            number_column("action", "u8", [0, 1, 2, 255]),
            text_column("key", ["<img src=x onerror=alert(1)>", "ü", "", "ü"]),
            replace(text_column("typename", ["a", "ü", "", "b"]), has_data=False),
        ],
        {"level": 16},
    )
    assert FOR_THE_FRONTEND.read_bytes() == encoded


def test_a_text_that_repeats_is_stored_once() -> None:
    column = text_column("key", ["inc"] * 1000)
    assert column.values == ["inc"]


def test_texts_that_all_differ_need_no_indices() -> None:
    indexed = text_column("key", ["b", "a", "c"])
    encoded = encode("span", 3, [replace(indexed, has_data=False)])
    [block] = decode(encoded)
    assert block.list("key") == ["b", "a", "c"]
    assert PREFIX.unpack_from(encoded)[2] == 0, "bytes of columns"
    assert encode("span", 3, list(block.columns.values())) == encode("span", 3, [indexed])
    with pytest.raises(BlockError, match="neither data nor 4 values"):
        encode("span", 4, [replace(indexed, has_data=False)])


def test_columns_with_the_same_numbers_can_be_stored_once() -> None:
    least, most = (number_column(name, "f64", [1.5, 2.5]) for name in ("min", "max"))
    count, lane = (number_column(name, "u32", [1, 1]) for name in ("count", "lane"))
    encoded = encode("bin", 2, [least, count, most, lane], may_share=True)
    assert PREFIX.unpack_from(encoded)[2] == 16 + 8, "bytes of columns"
    [block] = decode(encoded)
    assert [block.list(name) for name in block.columns] == [[1.5, 2.5], [1, 1], [1.5, 2.5], [1, 1]]
    with pytest.raises(BlockError, match="columns need 48 bytes, and it has 24"):
        list(decode(encoded, may_share=False))


def test_every_part_starts_at_a_multiple_of_eight_bytes() -> None:
    encoded = encode(
        "span", 3, [number_column("action", "u8", [1, 2, 3]), number_column("start", "f64", [1, 2, 3])]
    )
    _, header_length, columns_length, _ = PREFIX.unpack_from(encoded)
    assert header_length % 8 == 0
    assert columns_length == 8 + 3 * 8
    assert len(encoded) == PREFIX.size + header_length + columns_length


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(BlockError, match="'action'"):
        encode("span", 2, [number_column("action", "u8", [1, 2, 3])])


@given(st.data())
def test_damaged_bytes_are_read_or_refused_and_never_crash(data: st.DataObject) -> None:
    columns = [text_column("key", ["a", "b", "a"]), number_column("start", "f64", [1, 2, 3])]
    encoded = bytearray(encode("span", 3, columns))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(encoded)))
    with contextlib.suppress(BlockError):
        for block in decode(encoded[:cut]):
            for name in block.columns:
                block.list(name)


def _header(rows: int = 1, **column: object) -> bytes:
    described = {"name": "a", "type": "f64", "offset": 0, **column}
    return json.dumps({"kind": "span", "rows": rows, "columns": [described]}).encode()


def _header_without_offset(**column: object) -> bytes:
    header = json.loads(_header(**column))
    del header["columns"][0]["offset"]
    return json.dumps(header).encode()


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b'{"kind": "span"}', "can't be read"),
        (_header(rows=-1), "no valid kind and rows"),
        (_header(offset=80), "outside"),
        (_header(type="q"), "unknown type"),
        (_header(type=[]), "can't be read|unknown type"),
        (_header(type="text", values=[]), "refers"),
        (_header(type="text", values=["a"], rows=2, offset=None), "outside"),
        (_header_without_offset(type="text", values=["a", "b"]), "2 texts for 1 rows"),
        (_header_without_offset(type="text", values=[1]), "no list of texts"),
        (_header_without_offset(), "can't be read"),
        (b"[" * 9_000, "can't be read"),
        (b"[" * 100_000, "more than 10000 objects and lists"),
        (b'{"rows": ' + b"9" * 5_000 + b"}", "can't be read"),
    ],
)
def test_a_header_that_lies_is_refused_with_the_reason(header: bytes, reason: str) -> None:
    header += b" " * (-len(header) % 8)
    body = array("d", [1.0]).tobytes()
    with pytest.raises(BlockError, match=reason):
        list(decode(struct.pack("<4sIII", b"DOB1", len(header), len(body), 0) + header + body))
