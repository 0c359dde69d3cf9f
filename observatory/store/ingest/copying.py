"""Encodes columns for PostgreSQL's binary COPY."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import add
from typing import TypeAlias

import numpy as np
import psycopg

from observatory.store.ingest.records import Array, Coded

SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
"""and no flags, no extension of the header (PostgreSQL's documentation of COPY)"""
TRAILER = b"\xff\xff"
NULL = b"\xff\xff\xff\xff"
JSONB_VERSION = b"\x01"
PART = 1_000
"""rows that are encoded while the server stores the ones before"""
EPOCH_2000 = 946_684_800_000_000
"""microseconds from 1970 to 2000, the epoch of PostgreSQL"""

Fixed: TypeAlias = "Array"
"""values of a fixed width, none of them null, in the width of the table's column"""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Values of any width, or null: the length and bytes of each, and for each row its value's position."""

    values: Sequence[bytes]
    codes: Array

    def part(self, rows: slice) -> Iterator[bytes]:
        return map(self.values.__getitem__, self.codes[rows].tolist())


Column: TypeAlias = "Fixed | Encoded"


def timestamps(seconds: Array) -> Fixed:
    """Seconds since 1970 as PostgreSQL stores a timestamptz."""
    return np.rint(seconds * 1e6).astype(np.int64) - EPOCH_2000


def texts(column: Coded) -> Encoded:
    return _encoded(list(map(str.encode, column.values)), column.codes)


def jsonb(column: Coded) -> Encoded:
    """Of texts that are JSON."""
    return _encoded([JSONB_VERSION + text.encode() for text in column.values], column.codes)


def nullable(ids: Array) -> Column:
    """Ids, of which 0 is null."""
    if ids.all():
        return ids.astype(np.int32)
    values, codes = np.unique(ids, return_inverse=True)
    encoded = _encoded(values.astype(">i4").view("V4").tolist(), codes)
    return Encoded([NULL, *encoded.values[1:]], codes)


def _encoded(values: Sequence[bytes], codes: Array) -> Encoded:
    lengths = np.fromiter(map(len, values), ">i4", len(values))
    return Encoded(list(map(add, lengths.view("V4").tolist(), values)), codes)


def copy_columns(
    connection: psycopg.Connection, table: str, rows: int, columns: Mapping[str, Column]
) -> None:
    """Appends rows to a table."""
    fixed = {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}
    encoded = {name: column for name, column in columns.items() if isinstance(column, Encoded)}
    statement = f"COPY {table} ({', '.join([*fixed, *encoded])}) FROM STDIN (FORMAT BINARY)"
    layout = _layout(fixed)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        before = SIGNATURE
        for start in range(0, rows, PART):
            part = _part(slice(start, start + PART), len(columns), layout, fixed, encoded.values())
            copy.write(before + part if start + PART < rows else before + part + TRAILER)
            before = b""


def _layout(fixed: Mapping[str, Fixed]) -> np.dtype[np.void]:
    """The beginning of a row: its number of fields, and of each field of fixed width the length and value."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for name, values in fixed.items():
        fields += [(f"length of {name}", ">i4"), (name, values.dtype.newbyteorder(">").str)]
    return np.dtype(fields)


def _part(
    part: slice,
    fields: int,
    layout: np.dtype[np.void],
    fixed: Mapping[str, Fixed],
    encoded: Iterable[Encoded],
) -> bytes:
    starts = np.empty(len(next(iter(fixed.values()))[part]), layout)
    starts["fields"] = fields
    for name, values in fixed.items():
        starts[f"length of {name}"] = values.dtype.itemsize
        starts[name] = values[part]
    if not encoded:
        return starts.tobytes()
    pieces = [column.part(part) for column in encoded]
    rows = zip(starts.view(f"V{layout.itemsize}").tolist(), *pieces, strict=True)
    return b"".join(chain.from_iterable(rows))
