"""Queries for the metrics that clusters have reported. The table `series` can have millions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from observatory.wire.records import MetricType

MAX_METRICS = 2_000
"""names that are read for a cluster, in order"""
MAX_SERIES = 60
"""series that are read for a cluster's metric: this many of workers, and this many of the cluster"""


@dataclass(frozen=True, slots=True)
class SeenSeries:
    metric: str
    type: int
    """MetricType"""
    labels: dict[str, str]
    worker: str | None
    """the worker's name; None: a series of the scheduler or the cluster"""


@dataclass(frozen=True, slots=True)
class RecentBin:
    """A summary of several series; values of counters are rates per second."""

    time: float
    """start of the bin, in seconds"""
    mean: float
    minimum: float
    maximum: float


def metric_names(connection: psycopg.Connection, clusters: Sequence[int]) -> list[tuple[int, str]]:
    """Pairs of cluster and metric. Looks up the next name in the index after each, without reading the whole
    index."""
    return connection.execute(
        """WITH RECURSIVE found (cluster_id, metric, number) AS (
               SELECT cluster, (SELECT min(metric) FROM series WHERE cluster_id = cluster), 1
               FROM unnest(%(clusters)s::int[]) AS cluster
               UNION ALL
               SELECT cluster_id, (
                   SELECT min(series.metric) FROM series
                   WHERE series.cluster_id = found.cluster_id AND series.metric > found.metric
               ), number + 1
               FROM found WHERE metric IS NOT NULL AND number < %(most)s
           )
           SELECT cluster_id, metric FROM found WHERE metric IS NOT NULL""",
        {"clusters": list(clusters), "most": MAX_METRICS},
    ).fetchall()


def clusters_with(connection: psycopg.Connection, clusters: Sequence[int], metric: str) -> list[int]:
    """The clusters that have the metric, in the given order."""
    rows = connection.execute(
        """SELECT cluster FROM unnest(%s::int[]) WITH ORDINALITY AS requested (cluster, position)
           WHERE EXISTS (SELECT FROM series WHERE cluster_id = cluster AND metric = %s) ORDER BY position""",
        [list(clusters), metric],
    ).fetchall()
    return [cluster for (cluster,) in rows]


def seen_series(connection: psycopg.Connection, pairs: Sequence[tuple[int, str]]) -> list[SeenSeries]:
    """For each pair of cluster and metric some series of workers, and some of the cluster."""
    limited = """SELECT type, labels, worker_id FROM series
                 WHERE series.cluster_id = requested.cluster AND series.metric = requested.metric
                   AND worker_id IS {} NULL LIMIT %(most)s"""
    query = f"""
        SELECT requested.metric, type, labels, worker.name AS worker
        FROM unnest(%(clusters)s::int[], %(metrics)s::text[]) AS requested (cluster, metric)
        CROSS JOIN LATERAL (({limited.format("")}) UNION ALL ({limited.format("NOT")})) AS examples
        LEFT JOIN worker ON worker.id = worker_id"""
    with connection.cursor(row_factory=class_row(SeenSeries)) as cursor:
        return cursor.execute(
            query.encode(),
            {
                "clusters": [cluster for cluster, _ in pairs],
                "metrics": [metric for _, metric in pairs],
                "most": MAX_SERIES,
            },
        ).fetchall()


def last_time(connection: psycopg.Connection, clusters: Sequence[int]) -> datetime | None:
    """The time of the newest record of the clusters, on the scheduler's clock."""
    row = connection.execute(
        "SELECT max(last) FROM extent WHERE cluster_id = ANY(%s)", [list(clusters)]
    ).fetchone()
    return row[0] if row else None


def series_of(
    connection: psycopg.Connection, clusters: Sequence[int], metric: str, most: int
) -> list[tuple[int, dict[str, str], str | None]]:
    """(id, labels, worker's name) of the newest series of a metric, at most `most`."""
    return connection.execute(
        """SELECT series.id, labels, worker.name FROM series LEFT JOIN worker ON worker.id = worker_id
           WHERE series.cluster_id = ANY(%s) AND metric = %s ORDER BY series.id DESC LIMIT %s""",
        [list(clusters), metric, most],
    ).fetchall()


def recent_bins(
    connection: psycopg.Connection,
    clusters: Sequence[int],
    series: Sequence[int],
    start: datetime,
    stop: datetime,
    bins: int,
) -> list[RecentBin]:
    """Summarizes series of clusters over [start, stop) in `bins` bins; bins without samples are left out."""
    parameters: dict[str, Any] = {
        "clusters": list(clusters),
        "series": list(series),
        "start": start,
        "stop": stop,
        "width": (stop - start) / bins,
        "counter": int(MetricType.COUNTER),
    }
    with connection.cursor(row_factory=class_row(RecentBin)) as cursor:
        return cursor.execute(
            """WITH steps AS (
                   SELECT time, type, value, series_id,
                       value - lag(value) OVER following AS growth,
                       extract(epoch FROM time - lag(time) OVER following)::float8 AS elapsed
                   FROM sample JOIN series ON series.id = series_id
                   WHERE series_id = ANY(%(series)s) AND sample.cluster_id = ANY(%(clusters)s)
                     AND time >= %(start)s AND time < %(stop)s
                     AND value <> 'NaN' AND abs(value) < 'Infinity'
                   WINDOW following AS (PARTITION BY series_id ORDER BY time)
               ), drawn AS (
                   SELECT time, CASE WHEN type = %(counter)s THEN growth / elapsed ELSE value END AS value
                   FROM steps
                   WHERE type <> %(counter)s OR (growth >= 0 AND elapsed > 0)
               )
               SELECT extract(epoch FROM date_bin(%(width)s, time, %(start)s))::float8 AS time,
                   avg(value) AS mean, min(value) AS minimum, max(value) AS maximum
               FROM drawn GROUP BY 1 ORDER BY 1""",
            parameters,
        ).fetchall()
