"""Reads Dask's fine performance metrics of a window: as counters of the cluster, and by Dask span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.queries.timeline import window_parameters
from observatory.store.queries.windows.row_counts import has_more_fine_performance
from observatory.store.times import from_microseconds

METRIC = "observatory_fine_performance_total"
MOST_ROWS = 100_000
"""of Dask spans that are added up"""

INCREASES: LiteralString = """
    WITH series AS MATERIALIZED (
        SELECT id, labels FROM series
        WHERE cluster_id = %(cluster)s AND metric = %(metric)s AND worker_id IS NULL)
    SELECT labels, newest.value - coalesce(before.value, 0) AS value FROM series
    CROSS JOIN LATERAL (
        SELECT value FROM sample
        WHERE series_id = series.id AND cluster_id = %(cluster)s AND time >= %(first)s AND time < %(stop)s
        ORDER BY time DESC LIMIT 1) AS newest
    LEFT JOIN LATERAL (
        SELECT value FROM sample
        WHERE series_id = series.id AND cluster_id = %(cluster)s AND time >= %(first)s AND time < %(start)s
        ORDER BY time DESC LIMIT 1) AS before ON true
    WHERE newest.value > coalesce(before.value, 0)"""

OF_SPANS: LiteralString = """
    SELECT names, activity, unit, sum(value) AS value FROM fine_performance
    WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
    GROUP BY 1, 2, 3 ORDER BY value DESC LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class Increase:
    """What a counter with these labels (context, prefix, activity, unit) grew by."""

    labels: dict[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class SpanActivity:
    """An activity of the tasks of Dask spans with these names, outermost first."""

    names: list[str]
    activity: str
    unit: str
    value: float


def increases(
    connection: psycopg.Connection, cluster: int, first: int, start: int, stop: int
) -> list[Increase]:
    """Return what each counter grew by in [start, stop); `first` is when the cluster's records begin (µs).

    Reads two samples of each series, whatever the length of the window.
    """
    parameters = {
        **window_parameters(cluster, start, stop),
        "metric": METRIC,
        "first": from_microseconds(first),
    }
    with connection.cursor(row_factory=class_row(Increase)) as cursor:
        return cursor.execute(INCREASES, parameters).fetchall()


def activities_of_spans(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, limit: int
) -> list[SpanActivity] | None:
    """Return the largest activities by Dask span in [start, stop) (µs); None: there are too many rows."""
    if has_more_fine_performance(connection, cluster, start, stop, MOST_ROWS):
        return None
    with connection.cursor(row_factory=class_row(SpanActivity)) as cursor:
        return cursor.execute(
            OF_SPANS, {**window_parameters(cluster, start, stop), "limit": limit}
        ).fetchall()
