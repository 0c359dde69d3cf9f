"""Encodes columns for PostgreSQL's binary COPY."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import add
from typing import Any, TypeAlias

import numpy as np
import psycopg

from observatory.store.ingest.batches.record_columns import Array, Coded
from observatory.store.times import EPOCH_2000

SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
"""and no flags, no extension of the header (PostgreSQL's documentation of COPY)"""
TRAILER = b"\xff\xff"
NULL = b"\xff\xff\xff\xff"
JSONB_VERSION = b"\x01"
PART_ROWS = 250
"""rows that are encoded at a time: some 32 KiB of spans"""
MESSAGE_BYTES = 16 << 10
"""that are sent while the next ones are encoded"""

Fixed: TypeAlias = "Array"
"""values of a fixed width, none of them null, in the width of the table's column"""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Values of any width, or null: the length and bytes of each, and for each row its value's position."""

    values: Sequence[bytes]
    codes: Array

    def part(self, rows: slice) -> Iterator[bytes]:
        return map(self.values.__getitem__, self.codes[rows].tolist())


@dataclass(frozen=True, slots=True)
class Texts:
    """A text of its own for each row, which is made and encoded when the row is sent."""

    of_rows: Callable[[slice], Iterable[str]]

    def part(self, rows: slice) -> Iterator[bytes]:
        return _with_lengths(list(map(str.encode, self.of_rows(rows))))


Column: TypeAlias = "Fixed | Encoded | Texts"


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
    return Encoded(list(_with_lengths(values)), codes)


def _with_lengths(values: Sequence[bytes]) -> Iterator[bytes]:
    lengths = np.fromiter(map(len, values), ">i4", len(values))
    return map(add, lengths.view("V4").tolist(), values)


@contextmanager
def copying(
    connection: psycopg.Connection, table: str, rows: int, columns: Mapping[str, Column]
) -> Iterator[None]:
    """Sends rows to a table. The server stores them while the block runs, and has stored them after it."""
    fixed, others = _split(columns)
    with connection.cursor() as cursor, cursor.copy(_statement(table, fixed, others)) as copy:
        for message in _messages([(rows, fixed, others)]):
            copy.write(message)
        yield


class Copies:
    """Rows of several batches: those of a table are sent together."""

    def __init__(self) -> None:
        self._parts: defaultdict[tuple[str, tuple[str, ...], tuple[str, ...]], list[_Part]] = defaultdict(
            list
        )
        """by table, and by the columns of a fixed width and of any"""

    def add(self, table: str, rows: int, columns: Mapping[str, Column]) -> None:
        fixed, others = _split(columns)
        self._parts[table, tuple(fixed), tuple(others)].append((rows, fixed, others))

    def send(self, connection: psycopg.Connection) -> None:
        """Sends what was added; the server has stored it afterwards."""
        for (table, *_), parts in self._parts.items():
            with connection.cursor() as cursor, cursor.copy(_statement(table, *parts[0][1:])) as copy:
                for message in _messages(parts):
                    copy.write(message)


_Part: TypeAlias = "tuple[int, Mapping[str, Fixed], Mapping[str, Encoded | Texts]]"
"""a number of rows and their columns"""


def _split(columns: Mapping[str, Column]) -> tuple[dict[str, Fixed], dict[str, Encoded | Texts]]:
    """The columns of a fixed width, and the others."""
    fixed = {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}
    others = {name: column for name, column in columns.items() if not isinstance(column, np.ndarray)}
    return fixed, others


def _statement(table: str, fixed: Iterable[str], others: Iterable[str]) -> str:
    return f"COPY {table} ({', '.join([*fixed, *others])}) FROM STDIN (FORMAT BINARY)"


def _messages(parts: Iterable[_Part]) -> Iterator[bytes]:
    """The rows, encoded while the server stores those of the messages before."""
    waiting, size = [SIGNATURE], 0
    for part in parts:
        for rows in _encoded_rows(*part):
            waiting.append(rows)
            size += len(rows)
            if size >= MESSAGE_BYTES:
                yield b"".join(waiting)
                waiting, size = [], 0
    yield b"".join([*waiting, TRAILER])


def _encoded_rows(
    rows: int, fixed: Mapping[str, Fixed], others: Mapping[str, Encoded | Texts]
) -> Iterator[bytes]:
    """The rows, PART_ROWS at a time."""
    layout = _layout(tuple((name, values.dtype) for name, values in fixed.items()))
    starts = np.empty(min(rows, PART_ROWS), layout)
    starts["fields"] = len(fixed) + len(others)
    for name, values in fixed.items():
        starts[f"length of {name}"] = values.dtype.itemsize
    for first in range(0, rows, PART_ROWS):
        part = slice(first, min(first + PART_ROWS, rows))
        some = starts[: part.stop - first]
        for name, values in fixed.items():
            some[name] = values[part]
        columns = [column.part(part) for column in others.values()]
        yield _joined(some, columns) if columns else some.tobytes()


def _joined(starts: Array, others: Iterable[Iterator[bytes]]) -> bytes:
    rows = zip(starts.view(f"V{starts.dtype.itemsize}").tolist(), *others, strict=True)
    return b"".join(chain.from_iterable(rows))


@cache
def _layout(fixed: tuple[tuple[str, np.dtype[Any]], ...]) -> np.dtype[np.void]:
    """The beginning of a row: its number of fields, and of each field of fixed width the length and value."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for name, type in fixed:
        fields += [(f"length of {name}", ">i4"), (name, type.newbyteorder(">").str)]
    return np.dtype(fields)
