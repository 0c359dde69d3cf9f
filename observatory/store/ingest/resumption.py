"""Reads the state of a cluster that another collector observed before."""

from __future__ import annotations

from observatory.store.connection import connect
from observatory.store.queries.extents import read_extent
from observatory.wire.records import MetricType, Series


def open_workers(cluster: int) -> list[str]:
    """The addresses of workers whose lifetimes are open. Raises psycopg.OperationalError."""
    with connect() as connection:
        query = "SELECT address FROM worker WHERE cluster_id = %s AND ended IS NULL"
        return [address for (address,) in connection.execute(query, [cluster])]


def known_series(cluster: int) -> list[Series]:
    """The series of the scheduler and of workers that are still there. Raises psycopg.OperationalError."""
    with connect() as connection:
        rows = connection.execute(
            """SELECT series.metric, series.labels, coalesce(worker.address, ''), series.type
               FROM series LEFT JOIN worker ON worker.id = series.worker_id
               WHERE series.cluster_id = %s AND worker.ended IS NULL""",
            [cluster],
        )
        return [
            Series(metric, tuple(sorted(labels.items())), address, MetricType(type))
            for metric, labels, address, type in rows
        ]


def recorded_until(cluster: int) -> float:
    """The time before which everything that was observed is stored, in seconds on the scheduler's clock.

    0: nothing is stored. Raises psycopg.OperationalError.
    """
    with connect() as connection:
        extent = read_extent(connection, cluster)
        return extent.committed if extent is not None else 0.0


def recorded_errors(cluster: int) -> int:
    """The number of erred tasks that are stored. Raises psycopg.OperationalError."""
    with connect() as connection:
        extent = read_extent(connection, cluster)
        return extent.errors if extent is not None else 0
