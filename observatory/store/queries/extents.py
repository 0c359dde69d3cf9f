"""How much the store has of each cluster: for lists, live frames and own metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection as django_connection

from observatory.store.engines import choose
from observatory.store.schema.time_series import TIME_SERIES

EXTENT_COLUMNS = "cluster_id, first, last, committed, version, sequence, spans, tasks, errors, workers"


@dataclass(frozen=True, slots=True)
class Extent:
    """What the store has of a cluster. Times are seconds on its scheduler's clock, 0 where there is none."""

    cluster: int
    first: float
    last: float
    committed: float
    """everything before this time is stored"""
    version: int
    """of the past: grows when a late record changes it"""
    sequence: int
    """batches stored so far: joins a tile and the live frames after it without a gap or a double"""
    spans: int
    tasks: int
    """compute spans"""
    errors: int
    """tasks that erred, as far as the sources could tell"""
    workers: int
    """lifetimes"""

    @classmethod
    def of(cls, row: Iterable[Any]) -> Extent:
        """Of a row of COLUMNS."""
        cluster, first, last, committed, version, sequence, *counts = row
        return cls(
            cluster, first.timestamp(), last.timestamp(), committed.timestamp(), version, sequence, *counts
        )


def extents(cluster_ids: Iterable[int]) -> dict[int, Extent]:
    """By cluster id; a cluster that nothing was stored of is not among them."""
    with django_connection.cursor() as cursor:
        cursor.execute(f"SELECT {EXTENT_COLUMNS} FROM extent WHERE cluster_id = ANY(%s)", [list(cluster_ids)])
        return {row[0]: Extent.of(row) for row in cursor.fetchall()}


def unknown_clusters() -> list[int]:
    """Those that records are left of though they were deleted."""
    with django_connection.cursor() as cursor:
        # one statement: a cluster is there before its first record
        cursor.execute(
            "SELECT cluster_id FROM extent WHERE cluster_id NOT IN (SELECT id FROM clusters_cluster)"
        )
        return [cluster for (cluster,) in cursor.fetchall()]


def read_extent(connection: psycopg.Connection, cluster: int) -> Extent | None:
    """The extent of a cluster; None before its first batch."""
    query = f"SELECT {EXTENT_COLUMNS} FROM extent WHERE cluster_id = %s"
    row = connection.execute(query, [cluster]).fetchone()
    return None if row is None else Extent.of(row)


def row_estimates(connection: psycopg.Connection) -> dict[str, int]:
    """About how many rows each time-series table holds (the statistics' estimates)."""
    engine = choose(connection)
    return {table.name: engine.estimate(connection, table) for table in TIME_SERIES}
