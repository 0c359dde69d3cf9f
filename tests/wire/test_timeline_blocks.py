"""Blocks of tiles and of the live socket are encoded as they are declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from observatory.wire.blocks import PREFIX, BlockError, decode, number_column
from observatory.wire.timeline_blocks import EVENT_COUNT, EXTENT, KINDS

COUNTS: dict[str, Any] = {"bin": [3, 4], "kind": ["tasks-erred", "tasks-erred"], "count": [1, 2]}


def test_a_block_has_the_declared_columns_in_their_order() -> None:
    values = {"count": np.array([1, 2], "<u4"), "kind": COUNTS["kind"], "bin": COUNTS["bin"]}
    [block] = decode(EVENT_COUNT.encode(values, {"level": 20}))
    assert [(column.name, column.type) for column in block.columns.values()] == [
        (column.name, column.type) for column in EVENT_COUNT.columns
    ]
    assert {name: block.list(name) for name in COUNTS} == COUNTS
    assert (block.kind, block.rows, block.meta) == ("event-count", 2, {"level": 20})


@pytest.mark.parametrize(("kinds", "has_data"), [(["a", "b"], False), (["a", "a"], True)])
def test_texts_that_all_differ_are_sent_without_indices(kinds: list[str], has_data: bool) -> None:
    encoded = EVENT_COUNT.encode({**COUNTS, "kind": kinds})
    [block] = decode(encoded)
    assert block.list("kind") == kinds
    assert PREFIX.unpack_from(encoded)[2] == (24 if has_data else 16), "bytes of columns"


def test_a_block_without_rows_has_its_meta_alone() -> None:
    [block] = decode(EXTENT.encode({}, {"version": 1}))
    assert (block.rows, block.columns, block.meta) == (0, {}, {"version": 1})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"extra": [1, 2]}, "other columns"),
        ({"bin": np.array([3, 4], "<f8")}, "'bin' is u32"),
        ({"bin": number_column("bin", "f64", [3, 4])}, "'bin' is u32"),
        ({"count": [1]}, "4 bytes"),
    ],
)
def test_columns_other_than_the_declared_ones_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BlockError, match=words):
        EVENT_COUNT.encode({**COUNTS, **changes})


def test_no_kind_declares_a_column_twice() -> None:
    for kind in KINDS.values():
        names = [column.name for column in kind.columns]
        assert len(names) == len(set(names))
