"""How much the texts of a block hold, before its records are read."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from observatory.wire.blocks import Block

MAXIMUM_CONTAINERS = 100_000
"""JSON objects and lists in a column: more take more memory and time than a batch may"""


def stored_characters(block: Block) -> int:
    """The characters of the rows' texts: a text that many rows share counts for each of them."""
    total = 0
    for column in block.columns.values():
        if column.values is not None and block.rows:
            lengths = np.fromiter(map(len, column.values), np.int64, len(column.values))
            total += int(lengths[np.frombuffer(column.data, "<u4", block.rows)].sum())
    return total


def json_containers(block: Block, names: Iterable[str]) -> int:
    """The objects and lists in the JSON texts of the named columns; brackets within texts count, too."""
    columns = [block.columns[name] for name in names if name in block.columns]
    return sum(text.count("[") + text.count("{") for column in columns for text in column.values or ())
