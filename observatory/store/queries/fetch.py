"""Reads query results into numpy arrays with COPY in PostgreSQL's binary format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.store.times import EPOCH_2000

Array = npt.NDArray[Any]

HEADER_LENGTH = 19
"""11 bytes signature, int32 flags, int32 length of the header extension (PostgreSQL's COPY documentation)"""
TRAILER = b"\xff\xff"
PIECE_BYTES = 1 << 17
"""bytes of one row of a packed value"""
SEND_FUNCTIONS: dict[str, LiteralString] = {
    "int16": "int2send",
    "int32": "int4send",
    "int64": "int8send",
    "float64": "float8send",
    "microseconds": "timestamptz_send",
}
"""PostgreSQL's functions that encode a value as binary COPY does"""


class FetchError(ValueError):
    """The columns of a query don't match the given types; the message names the difference."""


def fetch_columns(
    connection: psycopg.Connection,
    query: LiteralString,
    parameters: Sequence[Any] | Mapping[str, Any],
    types: Mapping[str, str],
) -> dict[str, Array]:
    """Return the columns of `query`, in its order, under the names of `types`.

    `types` gives the type of each column, which must not have nulls: "int16", "int32", "int64", "float32",
    "float64", "bool"; "time" (timestamptz as float64 seconds since 1970) or "microseconds" (timestamptz as
    int64 microseconds since 1970). Raises FetchError when the query returns other columns; a different type
    of the same width isn't detected.
    """
    layout = _layout(types)
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)", parameters) as copy,
    ):
        data = _all_rows(connection, copy)
    if data[-2:] != TRAILER or (len(data) - HEADER_LENGTH - 2) % layout.itemsize:
        raise FetchError(f"the query's rows don't have the {layout.itemsize} bytes of {', '.join(types)}")
    rows = np.frombuffer(data, layout, (len(data) - HEADER_LENGTH - 2) // layout.itemsize, HEADER_LENGTH)
    if np.any(rows["fields"] != len(types)):
        raise FetchError(f"the query doesn't return the {len(types)} columns {', '.join(types)}")
    return {name: _column(rows, name, type) for name, type in types.items()}


def _all_rows(connection: psycopg.Connection, copy: psycopg.Copy) -> bytearray:
    """Read a COPY to its end.

    What libpq has received is taken from it row by row without psycopg's generators, which need
    microseconds for each. Keeping the memoryviews would cost seconds of garbage collection.
    """
    data = bytearray()
    received = connection.pgconn.get_copy_data
    while True:
        nbytes, row = received(1)
        if nbytes > 0:
            data += row
        elif nbytes < 0:
            break
        elif waited_for := copy.read():
            data += waited_for
        else:
            return data
    results = list(iter(connection.pgconn.get_result, None))
    for result in results:
        if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result)
    return data


def fetch_packed_columns(
    connection: psycopg.Connection,
    query: LiteralString,
    parameters: Sequence[Any] | Mapping[str, Any],
    types: Mapping[str, str],
) -> dict[str, Array]:
    """Return the columns as `fetch_columns` does, from one value (at most 1 GB) that PostgreSQL packs.

    Halves the time of a COPY, for each row of which Python needs half a microsecond. A null leaves its row
    out, and the rows are in no order, as parallel workers may pack some each. The value comes in pieces: a
    connection keeps a buffer as large as the largest row it has received.
    """
    names = [f"column_{place}" for place in range(len(types))]
    packed = " || ".join(
        f"{SEND_FUNCTIONS[type]}({name})" for name, type in zip(names, types.values(), strict=True)
    )
    statement = f"""
        SELECT start, substring(value FROM start FOR {PIECE_BYTES})
        FROM (
            SELECT string_agg({packed}, ''::bytea) FROM ({query}) AS row ({", ".join(names)})
        ) AS packed (value)
        CROSS JOIN LATERAL generate_series(1, octet_length(value), {PIECE_BYTES}) AS start"""
    pieces = sorted(connection.cursor(binary=True).execute(statement, parameters).fetchall())
    layout = np.dtype([(name, _stored(type)) for name, type in types.items()])
    rows = np.frombuffer(b"".join(piece for _, piece in pieces), layout)
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
