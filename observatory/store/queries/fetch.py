"""Reads the result of a query into numpy arrays, by way of COPY in PostgreSQL's binary format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.store.ingest.copying import EPOCH_2000

Array = npt.NDArray[Any]

HEADER_LENGTH = 19
"""signature of 11 bytes, int32 flags, int32 length of the extension (PostgreSQL's documentation of COPY)"""
TRAILER = b"\xff\xff"
SENT: dict[str, LiteralString] = {
    "int32": "int4send",
    "float64": "float8send",
    "microseconds": "timestamptz_send",
}
"""PostgreSQL's functions that give a value as COPY would"""


class FetchError(ValueError):
    """The query's columns aren't those that were announced; the message names what is wrong."""


def fetch_columns(
    connection: psycopg.Connection,
    query: LiteralString,
    parameters: Sequence[Any] | Mapping[str, Any],
    types: Mapping[str, str],
) -> dict[str, Array]:
    """The columns of `query`, in its order, under the names of `types`.

    `types` gives each column's type, which has to be what the query returns, without nulls: "int16",
    "int32", "int64", "float32", "float64", "bool"; "time" (timestamptz as float64 seconds since 1970) or
    "microseconds" (timestamptz as int64 microseconds since 1970). Raises FetchError where the query returns
    something else; another type of the same width it can't tell apart.
    """
    layout = _layout(types)
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)", parameters) as copy,
    ):
        # psycopg gives a memoryview a row: a million of them, kept, occupy the garbage collector for seconds
        data = bytearray()
        for row in copy:
            data += row
    if data[-2:] != TRAILER or (len(data) - HEADER_LENGTH - 2) % layout.itemsize:
        raise FetchError(f"the query's rows don't have the {layout.itemsize} bytes of {', '.join(types)}")
    rows = np.frombuffer(data, layout, (len(data) - HEADER_LENGTH - 2) // layout.itemsize, HEADER_LENGTH)
    if np.any(rows["fields"] != len(types)):
        raise FetchError(f"the query doesn't return the {len(types)} columns {', '.join(types)}")
    return {name: _column(rows, name, type) for name, type in types.items()}


def fetch_packed_columns(
    connection: psycopg.Connection,
    query: LiteralString,
    parameters: Sequence[Any] | Mapping[str, Any],
    types: Mapping[LiteralString, str],
) -> dict[str, Array]:
    """As `columns`, where rows are few enough to come as one value (1 GB), which PostgreSQL packs.

    Each row of a COPY costs Python some microseconds, however short it is. The query's columns have the names
    of `types`.
    """
    row = " || ".join([f"{SENT[type]}({name})" for name, type in types.items()])
    statement = f"SELECT string_agg({row}, ''::bytea) FROM ({query}) AS row"
    found = connection.cursor(binary=True).execute(statement, parameters).fetchone()
    layout = np.dtype([(name, _stored(type)) for name, type in types.items()])
    rows = np.frombuffer((found and found[0]) or b"", layout)
    return {name: _value(rows[name], type) for name, type in types.items()}


def _layout(types: Mapping[str, str]) -> np.dtype[Any]:
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for name, type in types.items():
        fields += [(f"length of {name}", ">i4"), (name, _stored(type).str)]
    return np.dtype(fields)


def _stored(type: str) -> np.dtype[Any]:
    return np.dtype("int64" if type in ("time", "microseconds") else type).newbyteorder(">")


def _column(rows: Array, name: str, type: str) -> Array:
    wrong = rows[f"length of {name}"] != _stored(type).itemsize
    if np.any(wrong):
        raise FetchError(f"the query's column {name} is no {type}, or null, in row {int(np.argmax(wrong))}")
    return _value(rows[name], type)


def _value(values: Array, type: str) -> Array:
    if type == "microseconds":
        return values.astype(np.int64) + EPOCH_2000
    if type == "time":
        return (values.astype(np.int64) + EPOCH_2000) / 1e6
    return values.astype(type)
