"""Queries for conditions on metrics: lifetimes of workers, series and their samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, NamedTuple

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.store.queries.fetch import fetch_columns, fetch_packed_columns
from observatory.store.queries.labels import decode_labels
from observatory.store.times import from_microseconds
from observatory.store.workers.processes import PROCESS

Array = npt.NDArray[Any]

SAMPLE_TYPES: dict[LiteralString, str] = {"series": "int32", "time": "microseconds", "value": "float64"}


@dataclass(frozen=True, slots=True)
class WorkerLifetime:
    """Times are microseconds."""

    id: int
    name: str
    """or its address, while its name is unknown"""
    nthreads: int
    memory_limit: int
    """bytes; 0: none"""
    started: int
    ended: int | None
    process: str
    """workers with the same text share a process"""


@dataclass(frozen=True, slots=True)
class StoredSeries:
    id: int
    metric: str
    worker: int | None
    """None: a series of the scheduler or the cluster"""
    type: int
    """MetricType"""
    labels: Mapping[str, str]


Windows = Mapping[int, tuple[int, int]]
"""[start, stop) of each cluster, microseconds"""


class SeriesWindow(NamedTuple):
    """Times are microseconds."""

    series: int
    cluster: int
    start: int
    stop: int


_WINDOWS: LiteralString = """unnest(%(clusters)s::int[], %(starts)s::timestamptz[], %(stops)s::timestamptz[])
    AS asked (cluster, start, stop)"""
_SERIES: LiteralString = """unnest(%(ids)s::int[], %(of)s::int[], %(starts)s::timestamptz[],
    %(stops)s::timestamptz[]) AS wanted (id, cluster, start, stop)"""


def workers_within(connection: psycopg.Connection, windows: Windows) -> dict[int, list[WorkerLifetime]]:
    """The workers of each cluster whose lifetime overlaps its window, by id."""
    rows = connection.execute(
        f"""SELECT cluster_id, id, coalesce(nullif(name, ''), address), nthreads, memory_limit,
               (extract(epoch FROM started) * 1000000)::bigint, (extract(epoch FROM ended) * 1000000)::bigint,
               {PROCESS}
           FROM {_WINDOWS} JOIN worker ON cluster_id = asked.cluster
           WHERE started < asked.stop AND (ended IS NULL OR ended > asked.start)
           ORDER BY id""",
        _windows(windows),
    )
    found: dict[int, list[WorkerLifetime]] = {cluster: [] for cluster in windows}
    for cluster, *row in rows:
        found[cluster].append(WorkerLifetime(*row))
    return found


def series_within(
    connection: psycopg.Connection, windows: Windows, metrics: Sequence[str]
) -> dict[int, list[StoredSeries]]:
    """The series of `metrics` of each cluster, by metric and id.

    Excludes series of workers whose lifetime doesn't overlap the cluster's window.
    """
    rows = connection.execute(
        f"""SELECT series.cluster_id, series.id, metric, worker_id, type, labels::text
           FROM {_WINDOWS} JOIN series ON series.cluster_id = asked.cluster
           LEFT JOIN worker ON worker.id = worker_id
           WHERE metric = ANY(%(metrics)s)
             AND (worker_id IS NULL
                  OR worker.started < asked.stop AND (worker.ended IS NULL OR worker.ended > asked.start))
           ORDER BY metric COLLATE "C", series.id""",
        _windows(windows) | {"metrics": list(metrics)},
    ).fetchall()
    labels = decode_labels(text for *_, text in rows)
    found: dict[int, list[StoredSeries]] = {cluster: [] for cluster in windows}
    for cluster, id, metric, worker, type, text in rows:
        found[cluster].append(StoredSeries(id, metric, worker, type, labels[text]))
    return found


def samples_within(connection: psycopg.Connection, wanted: Sequence[SeriesWindow]) -> dict[str, Array]:
    """The samples of each series in its window.

    Returns columns of SAMPLE_TYPES, unordered. OFFSET 0 makes PostgreSQL look up each series by itself: it
    expects no samples after those of its statistics, and would compare each of them with all series.
    """
    if not wanted:
        return _none()
    return fetch_packed_columns(
        connection,
        f"""SELECT series_id AS series, time, value
           FROM {_SERIES}
           CROSS JOIN LATERAL (
               SELECT series_id, time, value FROM sample
               WHERE series_id = wanted.id AND cluster_id = wanted.cluster
                 AND time >= wanted.start AND time >= %(first)s AND time < wanted.stop AND time < %(last)s
               OFFSET 0
           ) AS found""",
        _series(wanted),
        SAMPLE_TYPES,
    )


def last_samples_within(connection: psycopg.Connection, wanted: Sequence[SeriesWindow]) -> dict[str, Array]:
    """The last sample of each series in its window. Returns columns of SAMPLE_TYPES."""
    if not wanted:
        return _none()
    return fetch_columns(
        connection,
        f"""SELECT series_id, time, value
           FROM {_SERIES}
           CROSS JOIN LATERAL (
               SELECT series_id, time, value FROM sample
               WHERE series_id = wanted.id AND cluster_id = wanted.cluster
                 AND time >= wanted.start AND time >= %(first)s AND time < wanted.stop AND time < %(last)s
               ORDER BY time DESC LIMIT 1
           ) AS found""",
        _series(wanted),
        SAMPLE_TYPES,
    )


def count_samples(
    connection: psycopg.Connection, cluster: int, metrics: Sequence[str], start: int, stop: int, most: int
) -> int:
    """Counts the samples of `metrics` in [start, stop) (microseconds), up to `most`."""
    row = connection.execute(
        """SELECT count(*) FROM (
               SELECT FROM series JOIN sample ON series_id = series.id
               WHERE series.cluster_id = %(cluster)s AND metric = ANY(%(metrics)s)
                 AND sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
               LIMIT %(most)s
           ) AS counted""",
        {
            "cluster": cluster,
            "metrics": list(metrics),
            "start": from_microseconds(start),
            "stop": from_microseconds(stop),
            "most": most,
        },
    ).fetchone()
    return int(row[0]) if row else 0


def _none() -> dict[str, Array]:
    return {
        "series": np.empty(0, np.int32),
        "time": np.empty(0, np.int64),
        "value": np.empty(0, np.float64),
    }


def _windows(windows: Windows) -> dict[str, Any]:
    return {
        "clusters": list(windows),
        "starts": [from_microseconds(start) for start, _ in windows.values()],
        "stops": [from_microseconds(stop) for _, stop in windows.values()],
    }


def _series(wanted: Sequence[SeriesWindow]) -> dict[str, Any]:
    """`first` and `last` leave out the partitions that no window reaches."""
    ids, clusters, starts, stops = zip(*wanted, strict=True)
    times = {time: from_microseconds(time) for time in {*starts, *stops}}
    return {
        "ids": list(ids),
        "clusters": list(dict.fromkeys(clusters)),
        "of": list(clusters),
        "starts": [times[start] for start in starts],
        "stops": [times[stop] for stop in stops],
        "first": times[min(starts)],
        "last": times[max(stops)],
    }
