"""Reads blocks of an agent's batch into columns. Their contents are not trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from observatory.store.blocks.block_size import MAXIMUM_CONTAINERS
from observatory.store.ingest.batches.record_columns import (
    NUMPY,
    Array,
    Coded,
    Names,
    Records,
    Values,
    clean_values,
    keys_of,
    lacking,
)
from observatory.store.keys import clean_split
from observatory.wire.batches import OF_TEXT, BatchError
from observatory.wire.blocks import Block
from observatory.wire.kind import Field, Kind, Type
from observatory.wire.kinds import KINDS

NAMES = ("prefixes", "groups", "of")
EARLIEST, LATEST = 946_684_800.0, 4_102_444_800.0
"""seconds; as wire.records.is_time"""


def records_of_block(block: Block) -> tuple[Records, int]:
    """The records of a block, and how many were refused.

    Texts are cleaned and JSON is parsed. A record is refused if a time is not between 2000 and 2100, a number
    is not finite, or a JSON field holds no object or list. Raises BatchError if the kind is unknown or the
    block lacks the column of a required field.
    """
    kind = KINDS.get(block.kind)
    if kind is None:
        raise BatchError(f"there is no kind of record {block.kind[:50]!r}")
    _check_columns(kind, block)
    columns: dict[str, Values] = {}
    good = np.ones(block.rows, np.bool_)
    for field in kind.fields:
        columns[field.name], valid = _read(field, block)
        if valid is not None:
            good &= valid
    records = Records(kind, columns).where(good)
    return records, block.rows - len(records)


def _check_columns(kind: Kind, block: Block) -> None:
    """Raises BatchError if a column is missing or of another type, before any is read."""
    for field in kind.fields:
        column = block.columns.get(field.name)
        if column is None and field.is_optional:
            continue
        if column is None or column.type != field.type.column:
            raise BatchError(f"{kind.name} has no column {field.name} of type {field.type.column}")


def _read(field: Field, block: Block) -> tuple[Values, Array | None]:
    """The column's values, and which of them are valid; None: all."""
    column = block.columns.get(field.name)
    if column is None:
        return lacking(block.rows), None
    if column.values is None:
        numbers = np.frombuffer(column.data, np.dtype(NUMPY[field.type.column]).newbyteorder("<"), block.rows)
        if field.type is Type.TIME:
            return numbers, (numbers > EARLIEST) & (numbers < LATEST)
        return numbers, np.isfinite(numbers) if field.type is Type.REAL else None
    coded = Coded(column.values, np.frombuffer(column.data, "<u4", block.rows).astype(np.int64))
    if field.type is Type.JSON:
        bounded = Coded(list(_bounded(coded.values)), coded.codes)
        parsed = bounded.map(lambda text: _json(text, field.type.limit))
        return parsed, parsed.numbers(lambda value: value is not None, np.bool_)
    if field.type is Type.KEY:
        return keys_of(field, coded, _names(block, field.name, len(coded.values))), None
    return clean_values(coded, field.type.limit), None


def _names(block: Block, name: str, count: int) -> Names | None:
    """The names of the keys in a column; None: none are sent, as of texts alone and by older agents.

    Raises BatchError if they are not as wire/batches.py says.
    """
    columns = block.meta.get("names")
    sent = columns.get(name) if isinstance(columns, Mapping) else None
    if sent is None:
        return None
    prefixes, groups, of = (sent.get(part) if isinstance(sent, Mapping) else None for part in NAMES)
    if not (_is_list(prefixes, str) and _is_list(groups, str) and _is_list(of, int)):
        raise BatchError(f"the names of {block.kind}.{name} are no lists {', '.join(NAMES)}")
    if len(prefixes) != len(groups) or len(of) != count:
        raise BatchError(f"the names of {block.kind}.{name} are not one for each key")
    if of and not OF_TEXT <= min(of) <= max(of) < len(prefixes):
        raise BatchError(f"{block.kind}.{name} refers to a name that it hasn't")
    pairs = [*map(clean_split, prefixes, groups), None]
    return [pairs[position] for position in of]


def _is_list(value: Any, item: type) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and set(map(type, value)) <= {item}


def _bounded(texts: Sequence[str]) -> Iterator[str]:
    """JSON texts until they hold MAXIMUM_CONTAINERS objects and lists together; "" after that."""
    containers = 0
    for text in texts:
        containers += text.count("[") + text.count("{")
        yield text if containers <= MAXIMUM_CONTAINERS else ""


def _json(text: str, limit: int) -> Any:
    """The object or list; None where the text is none."""
    if len(text) > limit:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
