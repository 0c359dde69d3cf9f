"""Encodes rows for PostgreSQL's binary COPY: whole columns at once, where fields have a fixed width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg

Array = npt.NDArray[Any]

SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
"""and no flags, no extension of the header (PostgreSQL's documentation of COPY)"""
TRAILER = b"\xff\xff"
PART = 1_000
"""rows"""
EPOCH_2000 = 946_684_800_000_000
"""microseconds between 1970, where ours start, and 2000, where PostgreSQL's start"""


def timestamps(seconds: Array) -> Array:
    """Seconds since 1970 as PostgreSQL stores a timestamptz."""
    return np.rint(seconds * 1e6).astype(np.int64) - EPOCH_2000


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a table."""

    columns: Mapping[LiteralString, Array]
    """in the widths of the table's columns"""
    text: LiteralString | None = None
    """name of a last, text column"""
    texts: Sequence[str] = ()

    def names(self) -> list[LiteralString]:
        return [*self.columns, *([] if self.text is None else [self.text])]

    def encode(self) -> bytes:
        """As COPY takes it: each row is its number of fields, and each field its length and value."""
        layout: list[tuple[str, str]] = [("fields", ">i2")]
        for name, values in self.columns.items():
            layout += [(f"length of {name}", ">i4"), (name, values.dtype.newbyteorder(">").str)]
        if self.text is not None:
            layout.append(("length of the text", ">i4"))
        rows = np.empty(len(next(iter(self.columns.values()))), np.dtype(layout))
        rows["fields"] = len(self.names())
        for name, values in self.columns.items():
            rows[f"length of {name}"] = values.dtype.itemsize
            rows[name] = values
        if self.text is None:
            return rows.tobytes()
        texts = list(map(str.encode, self.texts))
        rows["length of the text"] = list(map(len, texts))
        pieces = rows.view(f"V{rows.dtype.itemsize}").tolist()
        return b"".join(chain.from_iterable(zip(pieces, texts, strict=True)))


def copy_rows(
    connection: psycopg.Connection, table: LiteralString, rows: int, part_of: Callable[[slice], Part]
) -> None:
    """Appends rows. They are made in parts, so that the server stores one while we make the next."""
    parts = (part_of(slice(start, start + PART)) for start in range(0, rows, PART))
    first = next(parts)
    statement = f"COPY {table} ({', '.join(first.names())}) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(SIGNATURE)
        for part in chain([first], parts):
            copy.write(part.encode())
        copy.write(TRAILER)
