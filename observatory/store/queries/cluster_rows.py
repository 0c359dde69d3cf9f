"""Counts what the store has of clusters, for previews of a deletion, within a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

import psycopg
from psycopg import sql

from observatory.store.archive.presence import count_removed, count_removed_before
from observatory.store.connection import connect, statement_timeout
from observatory.store.maintenance.retained_windows import RetainedWindow, overlaps_any
from observatory.store.schema.time_series import TimeSeries, time_series

INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ClusterRows:
    """Numbers of rows, and the size of the tiles in bytes."""

    records: int
    workers: int = 0
    tiles: int = 0
    tile_bytes: int = 0
    is_least: bool = False
    """there are at least so many records: counting them took too long"""


def count_rows(clusters: Sequence[int], seconds: float) -> ClusterRows:
    """All rows of the clusters; records are counted for at most `seconds`."""
    with connect() as connection:  # archived records are counted where they are
        row = connection.execute(
            """SELECT (SELECT count(*) FROM worker WHERE cluster_id = ANY(%(clusters)s)),
                      (SELECT count(*) FROM tile WHERE cluster_id = ANY(%(clusters)s))""",
            {"clusters": list(clusters)},
        ).fetchone()
        workers, tiles = row or (0, 0)
        size = tile_bytes(connection, clusters)
        ranges = connection.execute(
            "SELECT cluster_id, first, last FROM extent WHERE cluster_id = ANY(%s)", [list(clusters)]
        ).fetchall()
        records, is_least = _count_records(
            connection, {cluster: (first, last + INSTANT) for cluster, first, last in ranges}, seconds
        )
        records += count_removed(connection, clusters)
    return ClusterRows(records, workers, tiles, size, is_least)


def count_records_before(
    cutoffs: Mapping[int, datetime], seconds: float, retained: Sequence[RetainedWindow] = ()
) -> tuple[int, bool]:
    """The number of records of clusters before their times and outside of the retained windows.

    They are counted for at most `seconds`; returns also whether there are more.
    """
    with connect() as connection:
        rows = connection.execute(
            "SELECT cluster_id, first FROM extent WHERE cluster_id = ANY(%s) AND first > 'epoch'",
            [list(cutoffs)],
        ).fetchall()
        ranges = {cluster: (first, cutoffs[cluster]) for cluster, first in rows if first < cutoffs[cluster]}
        records, is_least = _count_records(connection, ranges, seconds, retained)
        return records + count_removed_before(connection, cutoffs), is_least


def tile_bytes(connection: psycopg.Connection, clusters: Sequence[int]) -> int:
    """The size of the cached tiles of clusters."""
    row = connection.execute(
        "SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM tile WHERE cluster_id = ANY(%s)",
        [list(clusters)],
    ).fetchone()
    return int(row[0]) if row else 0


def _count_records(
    connection: psycopg.Connection,
    ranges: Mapping[int, tuple[datetime, datetime]],
    seconds: float,
    retained: Sequence[RetainedWindow] = (),
) -> tuple[int, bool]:
    """In each cluster's range [first, stop), without the retained windows."""
    deadline, found = monotonic() + seconds, 0
    for cluster, (first, stop) in ranges.items():
        windows = [window for window in retained if window.cluster == cluster]
        for table in time_series():
            left = deadline - monotonic()
            if left <= 0:
                return found, True
            try:
                with statement_timeout(connection, left):
                    found += _count(connection, table, cluster, first, stop, windows)
            except psycopg.errors.QueryCanceled:
                return found, True
    return found, False


def _count(
    connection: psycopg.Connection,
    table: TimeSeries,
    cluster: int,
    first: datetime,
    stop: datetime,
    retained: Sequence[RetainedWindow],
) -> int:
    query = sql.SQL(
        "SELECT count(*) FROM {} WHERE cluster_id = {} AND {time} >= {} AND {time} < {} AND NOT {}"
    ).format(
        sql.Identifier(table.name),
        cluster,
        first,
        stop,
        overlaps_any(table, retained),
        time=sql.Identifier(table.time),
    )
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0
