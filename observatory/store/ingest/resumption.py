"""Reads the state of a cluster that another collector observed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from observatory.store.connection import connect
from observatory.store.queries.extents import read_extent
from observatory.wire.records import MetricType, Series


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is stored of a cluster."""

    series: Sequence[Series] = ()
    """of the scheduler and of workers that are still there"""
    workers: Sequence[str] = ()
    """the addresses of those whose lifetimes are open"""
    errors: int = 0
    """erred tasks"""
    until: float = 0.0
    """seconds on the scheduler's clock: everything before that was observed is stored; 0: nothing is"""


def recorded(cluster: int) -> Recorded:
    """Raises psycopg.OperationalError."""
    with connect() as connection:
        extent = read_extent(connection, cluster)
        if extent is None:
            return Recorded()
        return Recorded(
            _series(connection, cluster)[0], _workers(connection, cluster), extent.errors, extent.committed
        )


def known_series(cluster: int) -> tuple[list[Series], int]:
    """The series of the scheduler and of workers that are still there, and the id of the newest.

    Raises psycopg.OperationalError.
    """
    return new_series(cluster, 0)


def new_series(cluster: int, after: int) -> tuple[list[Series], int]:
    """As `known_series`, those with an id above `after`; `after` if there are none."""
    with connect() as connection:
        return _series(connection, cluster, after)


def _series(connection: psycopg.Connection, cluster: int, after: int = 0) -> tuple[list[Series], int]:
    rows = connection.execute(
        """SELECT series.id, series.metric, series.labels, coalesce(worker.address, ''), series.type
           FROM series LEFT JOIN worker ON worker.id = series.worker_id
           WHERE series.cluster_id = %s AND worker.ended IS NULL AND series.id > %s""",
        [cluster, after],
    ).fetchall()
    found = [
        Series(metric, tuple(sorted(labels.items())), address, MetricType(type))
        for _, metric, labels, address, type in rows
    ]
    return found, max((key for key, *_ in rows), default=after)


def _workers(connection: psycopg.Connection, cluster: int) -> list[str]:
    query = "SELECT address FROM worker WHERE cluster_id = %s AND ended IS NULL"
    return [address for (address,) in connection.execute(query, [cluster])]
