"""What is old goes: whole partitions where all of it is old, else rows of a cluster, an hour at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg
from psycopg import sql

from observatory.store.connection import connect
from observatory.store.dimensions import DIMENSIONS
from observatory.store.engines import Engine, choose
from observatory.store.tables import TIME_SERIES, TimeSeries

STEP = timedelta(hours=1)
"""rows of a cluster are deleted by so much of its time in one transaction"""


@dataclass(frozen=True, slots=True)
class Retained:
    """What one round of retention did."""

    dropped: int
    """partitions or chunks"""
    deleted: int
    """rows"""


def retain(days: Mapping[int, int], longest: int, now: datetime) -> Retained:
    """Removes records that are older than `days` (by cluster id), and all older than `longest`."""
    with connect() as connection:
        engine = choose(connection)
        oldest = now - timedelta(days=longest)
        dropped = sum(engine.drop_before(connection, table, oldest) for table in TIME_SERIES)
        deleted = 0
        for cluster, kept in sorted(days.items()):
            cutoff = now - timedelta(days=kept)
            if kept < longest:
                deleted += _delete_before(connection, engine, cluster, cutoff)
            _forget_before(connection, cluster, cutoff)
        return Retained(dropped, deleted)


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


def _delete_before(connection: psycopg.Connection, engine: Engine, cluster: int, cutoff: datetime) -> int:
    row = connection.execute("SELECT first FROM extent WHERE cluster_id = %s", [cluster]).fetchone()
    if row is None or row[0] == datetime.fromtimestamp(0, UTC):
        return 0
    deleted, start = 0, row[0]
    while start < cutoff:
        stop = min(start + STEP, cutoff)
        with connection.transaction():
            engine.allow_deletes(connection)
            deleted += sum(_delete_between(connection, table, cluster, start, stop) for table in TIME_SERIES)
        start = stop
    return deleted


def _delete_between(
    connection: psycopg.Connection, table: TimeSeries, cluster: int, start: datetime, stop: datetime
) -> int:
    statement = sql.SQL("DELETE FROM {} WHERE cluster_id = %s AND {time} >= %s AND {time} < %s").format(
        sql.Identifier(table.name), time=sql.Identifier(table.time)
    )
    return connection.execute(statement, [cluster, start, stop]).rowcount


def _forget_before(connection: psycopg.Connection, cluster: int, cutoff: datetime) -> None:
    """Tells the extent, and drops tiles of the time that is gone."""
    with connection.transaction():
        connection.execute(
            """UPDATE extent SET first = least(%(cutoff)s, last)
               WHERE cluster_id = %(cluster)s AND first < least(%(cutoff)s, last) AND first > 'epoch'""",
            {"cluster": cluster, "cutoff": cutoff},
        )
        connection.execute(
            "DELETE FROM tile WHERE cluster_id = %s AND ((index + 1) << (level + 9)) <= %s",
            [cluster, int(cutoff.timestamp() * 1e6)],
        )
