"""Retention: drops whole partitions where possible, else deletes rows by cluster, at most an hour at a time.

Rows that overlap a retained window stay, and so do the tiles inside of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from time import monotonic

import psycopg
from psycopg import sql

from observatory.store.archive import catalogue, presence
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.removal.expiry import expire
from observatory.store.archive.removal.uncounted_files import remove_deleted
from observatory.store.archive.row_lock import lock_rows
from observatory.store.connection import connect, connect_reader
from observatory.store.engines import Engine, choose
from observatory.store.maintenance.keyframes import keep_progress
from observatory.store.maintenance.retained_windows import (
    RetainedWindow,
    holes_between,
    merge_windows,
    overlaps_any,
)
from observatory.store.queries.cluster_rows import ClusterRows, tile_bytes
from observatory.store.schema.dimensions import DIMENSIONS
from observatory.store.schema.time_series import TimeSeries, time_series
from observatory.store.times import EPOCH, to_microseconds

log = logging.getLogger(__name__)

SHORTEST_STEP, STEP = timedelta(minutes=1), timedelta(hours=1)
"""the cluster's time whose rows are deleted in one transaction: the longer, the fewer records it has"""
QUICK, SLOW = 1.0, 4.0
"""seconds of a transaction, below which the next step is longer and above which it is shorter"""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """What one run of retention removed."""

    dropped: int
    """partitions or chunks, including those rewritten with the rows of retained windows"""
    deleted: int
    """rows"""


def apply_retention(
    days: Mapping[int, float], longest: int, now: datetime, retained: Sequence[RetainedWindow] = ()
) -> RetentionResult:
    """Remove the records older than `days` (by cluster id), and all older than `longest` days.

    Records that overlap the windows of `retained` stay, however old they are.
    """
    with connect() as connection, connect_reader() as reader:
        engine = choose(connection)
        windows = merge_windows(retained)
        by_cluster = {
            cluster: list(of_cluster)
            for cluster, of_cluster in groupby(windows, lambda window: window.cluster)
        }
        ready = {
            cluster: retention_days
            for cluster, retention_days in days.items()
            if _prepare(connection, reader, cluster, retention_days, now, by_cluster.get(cluster, ()))
        }
        dropped = sum(
            engine.drop_before(
                connection, table, now - timedelta(days=min(longest, table.keep_days or longest)), windows
            )
            for table in time_series()
        )
        deleted = 0
        for cluster, retention_days in sorted(ready.items()):
            cutoff = now - timedelta(days=retention_days)
            older = [window for window in by_cluster.get(cluster, ()) if window.start < cutoff]
            if retention_days < longest:
                deleted += _delete_before(connection, engine, cluster, cutoff, older)
            _update_extent(connection, cluster, cutoff, older)
        return RetentionResult(dropped, deleted)


def _prepare(
    connection: psycopg.Connection,
    reader: psycopg.Connection,
    cluster: int,
    retention_days: float,
    now: datetime,
    retained: Sequence[RetainedWindow],
) -> bool:
    """Keep the progress until the cutoff, and give up files; False if that has to wait for the archive."""
    cutoff = now - timedelta(days=retention_days)
    cutoffs = {
        table.name: now - timedelta(days=min(retention_days, table.keep_days or retention_days))
        for table in time_series()
    }
    starts = [window.start for window in retained if window.start < cutoff]
    try:
        keep_progress(reader, cluster, [cutoff, *starts])
        expire(connection, cluster, cutoffs, retained)
    except ArchiveError as error:
        log.warning("retention of cluster %d waits for its archived records: %s", cluster, error)
        return False
    return True


def delete_cluster(
    cluster_id: int, report_progress: Callable[[float], None] = lambda share: None
) -> ClusterRows:
    """Delete everything stored of a cluster; returns what that was.

    `report_progress` is called with the share that is done, and may raise: what is deleted stays deleted.
    """
    with connect() as connection:
        engine = choose(connection)
        query = "SELECT first, last FROM extent WHERE cluster_id = %s"
        row = connection.execute(query, [cluster_id]).fetchone()
        records = 0
        if row:
            records += _delete_before(connection, engine, cluster_id, row[1] + STEP, (), report_progress)
        with connection.transaction():
            # includes what a writer added meanwhile; the lock on the extent keeps writers out
            row = connection.execute(f"{query} FOR UPDATE", [cluster_id]).fetchone()
            if row:
                engine.allow_deletes(connection)
                for table in time_series():
                    records += _delete_between(connection, table, cluster_id, row[0], row[1] + STEP)
            size = tile_bytes(connection, [cluster_id])
            rows = {
                name: connection.execute(f"DELETE FROM {name} WHERE cluster_id = %s", [cluster_id]).rowcount
                for name in DIMENSIONS
            }
            catalogue.leave_cluster(connection, cluster_id)
            presence.forget_cluster(connection, cluster_id)
        remove_deleted(connection, cluster_id)
        return ClusterRows(records, rows["worker"], rows["tile"], size)


def _delete_before(
    connection: psycopg.Connection,
    engine: Engine,
    cluster: int,
    cutoff: datetime,
    retained: Sequence[RetainedWindow] = (),
    report_progress: Callable[[float], None] = lambda share: None,
) -> int:
    row = connection.execute("SELECT first FROM extent WHERE cluster_id = %s", [cluster]).fetchone()
    if row is None or row[0] == EPOCH:
        return 0
    deleted, first, start, step = 0, row[0], row[0], SHORTEST_STEP
    while start < cutoff:
        report_progress((start - first) / (cutoff - first))
        # skips days without rows, as between retained windows
        if not _has_rows(connection, cluster, start, min(start + DAY, cutoff), retained):
            start += DAY
            continue
        stop, began = min(start + step, cutoff), monotonic()
        with connection.transaction():
            lock_rows(connection, cluster)
            engine.allow_deletes(connection)
            rows = sum(
                _delete_between(connection, table, cluster, start, stop, retained) for table in time_series()
            )
            if rows:
                catalogue.look_again(connection, cluster)
        deleted += rows
        start, step = stop, _next_step(step, monotonic() - began)
    return deleted


def _next_step(step: timedelta, seconds: float) -> timedelta:
    if seconds < QUICK:
        return min(2 * step, STEP)
    return max(step / 2, SHORTEST_STEP) if seconds > SLOW else step


def _has_rows(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    retained: Sequence[RetainedWindow],
) -> bool:
    """Return whether there are rows to delete in [start, stop)."""
    queries = [
        sql.SQL("EXISTS (SELECT FROM {} WHERE {})").format(
            sql.Identifier(table.name), _deletable(table, cluster, start, stop, retained)
        )
        for table in time_series()
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
    retained: Sequence[RetainedWindow] = (),
) -> int:
    statement = sql.SQL("DELETE FROM {} WHERE {}").format(
        sql.Identifier(table.name), _deletable(table, cluster, start, stop, retained)
    )
    return connection.execute(statement).rowcount


def _deletable(
    table: TimeSeries, cluster: int, start: datetime, stop: datetime, retained: Sequence[RetainedWindow]
) -> sql.Composable:
    return sql.SQL("cluster_id = {} AND {time} >= {} AND {time} < {} AND NOT {}").format(
        cluster, start, stop, overlaps_any(table, retained), time=sql.Identifier(table.time)
    )


def _update_extent(
    connection: psycopg.Connection, cluster: int, cutoff: datetime, retained: Sequence[RetainedWindow]
) -> None:
    """Move the extent's start, delete the tiles of removed records, and store the holes."""
    first = min([cutoff, *(window.start for window in retained)])
    with connection.transaction():
        connection.execute(
            """UPDATE extent SET first = least(%(first)s, last)
               WHERE cluster_id = %(cluster)s AND first < least(%(first)s, last) AND first > 'epoch'""",
            {"cluster": cluster, "first": first},
        )
        connection.execute(
            """DELETE FROM tile WHERE cluster_id = %s AND ((index + 1) << (level + 9)) <= %s
                 AND NOT EXISTS (
                     SELECT FROM unnest(%s::bigint[], %s::bigint[]) AS retained (start, stop)
                     WHERE index << (level + 9) >= retained.start
                       AND (index + 1) << (level + 9) <= retained.stop)""",
            [
                cluster,
                to_microseconds(cutoff),
                [to_microseconds(window.start) for window in retained],
                [to_microseconds(window.stop) for window in retained],
            ],
        )
        connection.execute("DELETE FROM hole WHERE cluster_id = %s", [cluster])
        for start, stop in holes_between(retained, cutoff):
            connection.execute("INSERT INTO hole VALUES (%s, %s, %s)", [cluster, start, stop])
