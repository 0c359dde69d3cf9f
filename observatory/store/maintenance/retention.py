"""What is old goes: whole partitions where all of it is old, else rows of a cluster, an hour at a time.

What lies in a window that is kept stays as it is: its rows, and the tiles that are all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

import psycopg
from psycopg import sql

from observatory.store.connection import connect
from observatory.store.engines import Engine, choose
from observatory.store.maintenance.retained_windows import Window, holes_between, merge_windows, overlaps_any
from observatory.store.schema.dimensions import DIMENSIONS
from observatory.store.schema.time_series import TIME_SERIES, TimeSeries
from observatory.store.times import from_seconds, to_microseconds

STEP = timedelta(hours=1)
"""rows of a cluster are deleted by so much of its time in one transaction"""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """What one round of retention did."""

    dropped: int
    """partitions or chunks, also those that were made anew of what is kept of them"""
    deleted: int
    """rows"""


def apply_retention(
    days: Mapping[int, int], longest: int, now: datetime, kept: Sequence[Window] = ()
) -> RetentionResult:
    """Removes records that are older than `days` (by cluster id), and all older than `longest`.

    What lies in the windows of `kept` stays, however old it is.
    """
    with connect() as connection:
        engine = choose(connection)
        oldest = now - timedelta(days=longest)
        windows = merge_windows(kept)
        dropped = sum(engine.drop_before(connection, table, oldest, windows) for table in TIME_SERIES)
        deleted = 0
        of = {cluster: list(found) for cluster, found in groupby(windows, lambda window: window.cluster)}
        for cluster, retained in sorted(days.items()):
            cutoff = now - timedelta(days=retained)
            spared = [window for window in of.get(cluster, ()) if window.start < cutoff]
            if retained < longest:
                deleted += _delete_before(connection, engine, cluster, cutoff, spared)
            _forget_before(connection, cluster, cutoff, spared)
        return RetentionResult(dropped, deleted)


def delete_cluster(cluster_id: int) -> None:
    """Removes everything that the store has of a cluster."""
    with connect() as connection:
        engine = choose(connection)
        query = "SELECT first, last FROM extent WHERE cluster_id = %s"
        row = connection.execute(query, [cluster_id]).fetchone()
        if row:
            _delete_before(connection, engine, cluster_id, row[1] + STEP)
        with connection.transaction():
            # what a writer added meanwhile goes too; none can while we hold the extent
            row = connection.execute(f"{query} FOR UPDATE", [cluster_id]).fetchone()
            if row:
                engine.allow_deletes(connection)
                for table in TIME_SERIES:
                    _delete_between(connection, table, cluster_id, row[0], row[1] + STEP)
            for name in DIMENSIONS:
                connection.execute(f"DELETE FROM {name} WHERE cluster_id = %s", [cluster_id])


def _delete_before(
    connection: psycopg.Connection,
    engine: Engine,
    cluster: int,
    cutoff: datetime,
    kept: Sequence[Window] = (),
) -> int:
    row = connection.execute("SELECT first FROM extent WHERE cluster_id = %s", [cluster]).fetchone()
    if row is None or row[0] == from_seconds(0):
        return 0
    deleted, start = 0, row[0]
    while start < cutoff:
        stop = min(start + STEP, cutoff)
        # between windows that are kept lie days of which there is nothing any more
        if not _has_rows(connection, cluster, start, min(start + DAY, cutoff), kept):
            start += DAY
            continue
        with connection.transaction():
            engine.allow_deletes(connection)
            deleted += sum(
                _delete_between(connection, table, cluster, start, stop, kept) for table in TIME_SERIES
            )
        start = stop
    return deleted


def _has_rows(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, kept: Sequence[Window]
) -> bool:
    """Whether there is anything to delete."""
    queries = [
        sql.SQL("EXISTS (SELECT FROM {} WHERE {})").format(
            sql.Identifier(table.name), _to_delete(table, cluster, start, stop, kept)
        )
        for table in TIME_SERIES
    ]
    return connection.execute(sql.SQL("SELECT {}").format(sql.SQL(" OR ").join(queries))).fetchone() == (
        True,
    )


def _delete_between(
    connection: psycopg.Connection,
    table: TimeSeries,
    cluster: int,
    start: datetime,
    stop: datetime,
    kept: Sequence[Window] = (),
) -> int:
    statement = sql.SQL("DELETE FROM {} WHERE {}").format(
        sql.Identifier(table.name), _to_delete(table, cluster, start, stop, kept)
    )
    return connection.execute(statement).rowcount


def _to_delete(
    table: TimeSeries, cluster: int, start: datetime, stop: datetime, kept: Sequence[Window]
) -> sql.Composable:
    return sql.SQL("cluster_id = {} AND {time} >= {} AND {time} < {} AND NOT {}").format(
        cluster, start, stop, overlaps_any(table, kept), time=sql.Identifier(table.time)
    )


def _forget_before(
    connection: psycopg.Connection, cluster: int, cutoff: datetime, kept: Sequence[Window]
) -> None:
    """Tells the extent, drops tiles of the time that is gone, and notes where nothing is any more."""
    first = min(cutoff, *(window.start for window in kept)) if kept else cutoff
    with connection.transaction():
        connection.execute(
            """UPDATE extent SET first = least(%(first)s, last)
               WHERE cluster_id = %(cluster)s AND first < least(%(first)s, last) AND first > 'epoch'""",
            {"cluster": cluster, "first": first},
        )
        connection.execute(
            """DELETE FROM tile WHERE cluster_id = %s AND ((index + 1) << (level + 9)) <= %s
                 AND NOT EXISTS (
                     SELECT FROM unnest(%s::bigint[], %s::bigint[]) AS kept (start, stop)
                     WHERE index << (level + 9) >= kept.start AND (index + 1) << (level + 9) <= kept.stop)""",
            [
                cluster,
                to_microseconds(cutoff),
                [to_microseconds(window.start) for window in kept],
                [to_microseconds(window.stop) for window in kept],
            ],
        )
        connection.execute("DELETE FROM hole WHERE cluster_id = %s", [cluster])
        for start, stop in holes_between(kept, cutoff):
            connection.execute("INSERT INTO hole VALUES (%s, %s, %s)", [cluster, start, stop])
