"""Encodes rows for PostgreSQL's binary COPY: whole columns at once, where fields have a fixed width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg

Array = npt.NDArray[Any]

SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
"""and no flags, no extension of the header (PostgreSQL's documentation of COPY)"""
TRAILER = b"\xff\xff"
EPOCH_2000 = 946_684_800_000_000
"""microseconds between 1970, where ours start, and 2000, where PostgreSQL's start"""


def timestamps(seconds: Array) -> Array:
    """Seconds since 1970 as PostgreSQL stores a timestamptz."""
    return np.rint(seconds * 1e6).astype(np.int64) - EPOCH_2000


def copy_rows(
    connection: psycopg.Connection,
    table: LiteralString,
    columns: Mapping[LiteralString, Array],
    texts: tuple[LiteralString, Sequence[str]] | None = None,
) -> None:
    """Appends rows: `columns` in the widths of the table's columns, `texts` a last, text column."""
    names = [*columns, *([texts[0]] if texts else [])]
    data = _fixed(columns, len(names), None if texts is None else [text.encode() for text in texts[1]])
    statement = f"COPY {table} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(SIGNATURE)
        copy.write(data)
        copy.write(TRAILER)


def _fixed(columns: Mapping[LiteralString, Array], width: int, texts: list[bytes] | None) -> bytes:
    """The rows of `width` fields each: the columns, then the text where there is one."""
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for name, values in columns.items():
        layout += [(f"length of {name}", ">i4"), (name, values.dtype.newbyteorder(">").str)]
    if texts is not None:
        layout.append(("length of the text", ">i4"))
    rows = np.empty(len(next(iter(columns.values()))), np.dtype(layout))
    rows["fields"] = width
    for name, values in columns.items():
        rows[f"length of {name}"] = values.dtype.itemsize
        rows[name] = values
    if texts is None:
        return rows.tobytes()
    rows["length of the text"] = [len(text) for text in texts]
    data, size = rows.tobytes(), rows.dtype.itemsize
    pieces = (data[position : position + size] for position in range(0, len(data), size))
    return b"".join(chain.from_iterable(zip(pieces, texts, strict=True)))
