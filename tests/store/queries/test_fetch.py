from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries import fetch
from observatory.store.queries.fetch import FetchError, fetch_columns, fetch_packed_columns


def test_columns_are_arrays_of_their_types(
    connection: psycopg.Connection, writer: Writer, cluster: int, now: float, make: Any
) -> None:
    writer.write(
        Batch.of(cluster, spans=[make.span(now + index / 8, nbytes=index) for index in range(1_000)])
    )
    query = "SELECT start, stop, nbytes, lane_id, action, nbytes > 500, nbytes / 2.0::float8 FROM span"
    types = {
        "start": "time",
        "stop": "microseconds",
        "nbytes": "int64",
        "lane": "int32",
        "action": "int16",
        "large": "bool",
        "half": "float64",
    }
    found = fetch_columns(connection, f"{query} WHERE cluster_id = %s ORDER BY start", [cluster], types)
    assert list(found) == list(types)
    expected = now + np.arange(1_000) / 8
    assert np.array_equal(found["start"], expected)
    assert np.array_equal(found["stop"], ((expected + 0.5) * 1e6).astype(np.int64))
    assert np.array_equal(found["nbytes"], np.arange(1_000))
    assert found["large"].sum() == 499
    assert np.array_equal(found["half"], np.arange(1_000) / 2)
    assert {name: str(found[name].dtype) for name in ("lane", "action", "large")} == {
        "lane": "int32", "action": "int16", "large": "bool"}  # fmt: skip


def test_no_rows_are_empty_arrays(connection: psycopg.Connection) -> None:
    found = fetch_columns(connection, "SELECT 1::float8 WHERE %s", [False], {"one": "float64"})
    assert len(found["one"]) == 0


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("SELECT 1::int", {"a": "int64"}),
        ("SELECT 1::int, 2::int", {"a": "int32"}),
        ("SELECT 1::int", {"a": "int32", "b": "int32"}),
        ("SELECT NULL::int", {"a": "int32"}),
        ("SELECT 1::bigint, 'a text'", {"a": "int64", "b": "int32"}),
        ("SELECT 1::smallint, 2::bigint", {"a": "int64", "b": "int16"}),
    ],
)
def test_a_query_of_other_columns_is_refused(
    connection: psycopg.Connection, query: Any, types: dict[str, str]
) -> None:
    with pytest.raises(FetchError):
        fetch_columns(connection, query, [], types)


@pytest.mark.parametrize("piece", [10, fetch.PIECE_BYTES])
def test_packed_columns_are_those_of_a_copy(
    connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(fetch, "PIECE_BYTES", piece)
    query = """SELECT number, number::int, number::smallint, number / 4.0::float8,
        'epoch'::timestamptz + number * interval '1 us' FROM generate_series(-3::bigint, 3) AS number"""
    types = {"long": "int64", "group": "int32", "short": "int16", "part": "float64", "time": "microseconds"}
    packed = fetch_packed_columns(connection, query, [], types)
    for name, column in fetch_columns(connection, query, [], types).items():
        assert np.array_equal(packed[name], column)
        assert packed[name].dtype == column.dtype


def test_no_rows_are_packed_as_empty_arrays(connection: psycopg.Connection) -> None:
    found = fetch_packed_columns(connection, "SELECT 1::int WHERE false", [], {"one": "int32"})
    assert len(found["one"]) == 0
