"""Encodes rows for PostgreSQL's binary COPY: whole columns at once, where fields have a fixed width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
class Text:
    """A text column."""

    name: LiteralString
    of: Callable[[slice], Iterable[str]]
    """gives its values of some rows"""


def copy_rows(
    connection: psycopg.Connection,
    table: LiteralString,
    columns: Mapping[LiteralString, Array],
    text: Text | None = None,
) -> None:
    """Appends rows: `columns` in the widths of the table's columns, and `text` last."""
    names = [*columns, *([text.name] if text else [])]
    statement = f"COPY {table} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(SIGNATURE)
        # in parts, so that the server stores one while we encode the next
        for start in range(0, len(next(iter(columns.values()))), PART):
            part = slice(start, start + PART)
            parts = {name: values[part] for name, values in columns.items()}
            copy.write(_rows(parts, list(map(str.encode, text.of(part))) if text else None))
        copy.write(TRAILER)


def _rows(columns: Mapping[LiteralString, Array], texts: list[bytes] | None) -> bytes:
    """The rows as COPY takes them: in each the columns, then the text where there is one."""
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for name, values in columns.items():
        layout += [(f"length of {name}", ">i4"), (name, values.dtype.newbyteorder(">").str)]
    if texts is not None:
        layout.append(("length of the text", ">i4"))
    rows = np.empty(len(next(iter(columns.values()))), np.dtype(layout))
    rows["fields"] = len(columns) + (texts is not None)
    for name, values in columns.items():
        rows[f"length of {name}"] = values.dtype.itemsize
        rows[name] = values
    if texts is None:
        return rows.tobytes()
    rows["length of the text"] = list(map(len, texts))
    pieces = rows.view(f"V{rows.dtype.itemsize}").tolist()
    return b"".join(chain.from_iterable(zip(pieces, texts, strict=True)))
