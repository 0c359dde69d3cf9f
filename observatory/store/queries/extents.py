"""Reads extents: the time range and the record counts stored of each cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from django.db import connection as django_connection

from observatory.store.engines import choose
from observatory.store.schema.time_series import time_series

SETTLING = 30.0
"""seconds before `committed` from which on the past is taken for closed (docs/architecture/replay.md)"""
EXTENT_COLUMNS = """extent.cluster_id, extent.first, extent.last, extent.committed, extent.version,
    extent.sequence, extent.spans, greatest(extent.tasks, extent.counted), extent.errors, extent.workers"""


@dataclass(frozen=True, slots=True)
class Extent:
    """Time range and counts of the stored records. Times are seconds on the scheduler's clock; 0: none."""

    cluster: int
    first: float
    last: float
    committed: float
    """all records before this time are stored"""
    version: int
    """incremented when a late record changes the past"""
    sequence: int
    """number of stored batches; joins a tile and the live frames after it without gaps or duplicates"""
    spans: int
    tasks: int
    """compute spans; where some are missing, the scheduler's own count"""
    errors: int
    """erred tasks, as far as the sources reported them"""
    workers: int
    """lifetimes"""

    @property
    def records(self) -> int:
        """The number of spans and errors: what runs are made of."""
        return self.spans + self.errors

    @classmethod
    def of(cls, row: Iterable[Any]) -> Extent:
        """Make an extent from a row of EXTENT_COLUMNS."""
        cluster, first, last, committed, version, sequence, *counts = row
        return cls(
            cluster, first.timestamp(), last.timestamp(), committed.timestamp(), version, sequence, *counts
        )


def extents(cluster_ids: Iterable[int]) -> dict[int, Extent]:
    """Return extents by cluster id; clusters without stored batches are left out."""
    with django_connection.cursor() as cursor:
        cursor.execute(f"SELECT {EXTENT_COLUMNS} FROM extent WHERE cluster_id = ANY(%s)", [list(cluster_ids)])
        return {row[0]: Extent.of(row) for row in cursor.fetchall()}


def reached_since(ended_after: datetime) -> dict[int, tuple[int, int]]:
    """Return version and sequence of the clusters that ended after a time, by their ids."""
    with django_connection.cursor() as cursor:
        cursor.execute(
            """SELECT cluster_id, version, sequence FROM extent JOIN clusters_cluster ON id = cluster_id
            WHERE ended > %s""",
            [ended_after],
        )
        return {cluster: (version, sequence) for cluster, version, sequence in cursor.fetchall()}


def unsearched_clusters(ended_after: datetime) -> dict[int, int]:
    """Return the clusters that were never searched for runs, or have other records since: how many each has.

    Those that ended before a time are left out once they were searched.
    """
    with django_connection.cursor() as cursor:
        cursor.execute(
            """SELECT cluster.id, coalesce(extent.spans + extent.errors, 0) FROM clusters_cluster cluster
            LEFT JOIN runs_search search ON search.cluster_id = cluster.id
            LEFT JOIN extent ON extent.cluster_id = cluster.id
            WHERE search.cluster_id IS NULL
               OR (cluster.ended IS NULL OR cluster.ended > %s)
                  AND extent.spans + extent.errors <> search.records""",
            [ended_after],
        )
        return dict(cursor.fetchall())


def unknown_clusters() -> list[int]:
    """Return the ids of deleted clusters that still have records."""
    with django_connection.cursor() as cursor:
        # one statement: a cluster's row exists before its first record
        cursor.execute(
            "SELECT cluster_id FROM extent WHERE cluster_id NOT IN (SELECT id FROM clusters_cluster)"
        )
        return [cluster for (cluster,) in cursor.fetchall()]


def read_extent(connection: psycopg.Connection, cluster: int) -> Extent | None:
    """Return the extent of a cluster; None before its first batch."""
    query = f"SELECT {EXTENT_COLUMNS} FROM extent WHERE cluster_id = %s"
    row = connection.execute(query, [cluster]).fetchone()
    return None if row is None else Extent.of(row)


def row_estimates(connection: psycopg.Connection) -> dict[str, int]:
    """Return the estimated number of rows of each time-series table, from PostgreSQL's statistics."""
    engine = choose(connection)
    return {table.name: engine.estimate(connection, table) for table in time_series()}
