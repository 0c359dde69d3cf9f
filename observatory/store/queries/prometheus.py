"""Reads the series of several clusters and their samples, for Prometheus."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import psycopg

from observatory.store.queries.fetch import fetch_packed_columns
from observatory.store.times import from_microseconds

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """A stored series; times are microseconds."""

    id: int
    cluster: int
    metric: str
    labels: str
    """JSON"""
    address: str
    """of its worker; "": of the scheduler or the cluster"""
    worker_name: str
    ended: int | None
    """when its worker, or else its cluster, ended"""


def clusters_within(
    connection: psycopg.Connection, clusters: Collection[int], start: int, stop: int
) -> dict[int, tuple[int, int]]:
    """First and last time of those that have records in [start, stop]; all in microseconds."""
    rows = connection.execute(
        """SELECT cluster_id, (extract(epoch FROM first) * 1000000)::bigint,
               (extract(epoch FROM last) * 1000000)::bigint
           FROM extent WHERE cluster_id = ANY(%s) AND first <= %s AND last >= %s ORDER BY 1""",
        [list(clusters), from_microseconds(stop), from_microseconds(start)],
    )
    return {cluster: (first, last) for cluster, first, last in rows}


def metrics_of(connection: psycopg.Connection, clusters: Collection[int]) -> list[str]:
    """The metrics that the clusters have series of."""
    rows = connection.execute(
        "SELECT DISTINCT metric FROM series WHERE cluster_id = ANY(%s)", [list(clusters)]
    )
    return [metric for (metric,) in rows]


def series_of(
    connection: psycopg.Connection,
    clusters: Collection[int],
    metrics: Collection[str],
    start: int,
    stop: int,
    most: int,
) -> list[SeriesRow]:
    """Up to `most` series of the metrics, by id.

    Excludes those of workers whose lifetime doesn't overlap [start, stop] (microseconds).
    """
    rows = connection.execute(
        """SELECT series.id, series.cluster_id, metric, labels::text, coalesce(worker.address, ''),
               coalesce(worker.name, ''),
               (extract(epoch FROM coalesce(worker.ended, cluster.ended)) * 1000000)::bigint
           FROM series JOIN clusters_cluster cluster ON cluster.id = series.cluster_id
           LEFT JOIN worker ON worker.id = worker_id
           WHERE series.cluster_id = ANY(%s) AND metric = ANY(%s)
             AND (worker_id IS NULL OR worker.started <= %s AND (worker.ended IS NULL OR worker.ended >= %s))
           ORDER BY series.id LIMIT %s""",
        [list(clusters), list(metrics), from_microseconds(stop), from_microseconds(start), most],
    )
    return [SeriesRow(*row) for row in rows]


def samples_between(
    connection: psycopg.Connection, cluster: int, series: Sequence[int], start: int, stop: int, most: int
) -> dict[str, Array]:
    """Up to `most` samples of the series in [start, stop] (microseconds), in no order.

    Returns `place` (in `series`), `time` (microseconds) and `value`.
    """
    return fetch_packed_columns(
        connection,
        """SELECT place, time, value
           FROM unnest(%(series)s::int[]) WITH ORDINALITY AS wanted (id, place)
           CROSS JOIN LATERAL (
               SELECT time, value FROM sample
               WHERE series_id = wanted.id AND cluster_id = %(cluster)s
                 AND time >= %(start)s AND time <= %(stop)s
               OFFSET 0
           ) AS found
           LIMIT %(most)s""",
        {
            "series": list(series),
            "cluster": cluster,
            "start": from_microseconds(start),
            "stop": from_microseconds(stop),
            "most": most,
        },
        {"place": "int64", "time": "microseconds", "value": "float64"},
    )
