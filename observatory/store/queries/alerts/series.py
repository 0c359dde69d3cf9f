"""Queries for conditions on metrics: lifetimes of workers, series and their samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.store.queries.fetch import fetch_columns, fetch_packed_columns
from observatory.store.queries.labels import decode_labels
from observatory.store.times import from_microseconds
from observatory.store.worker_processes import PROCESS

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


def workers_within(
    connection: psycopg.Connection, cluster: int, start: int, stop: int
) -> list[WorkerLifetime]:
    """The workers whose lifetime overlaps [start, stop) (microseconds), by id."""
    rows = connection.execute(
        f"""SELECT id, coalesce(nullif(name, ''), address), nthreads, memory_limit,
               (extract(epoch FROM started) * 1000000)::bigint, (extract(epoch FROM ended) * 1000000)::bigint,
               {PROCESS}
           FROM worker WHERE cluster_id = %s AND started < %s AND (ended IS NULL OR ended > %s)
           ORDER BY id""",
        [cluster, from_microseconds(stop), from_microseconds(start)],
    )
    return [WorkerLifetime(*row) for row in rows]


def series_within(
    connection: psycopg.Connection, cluster: int, metrics: Sequence[str], start: int, stop: int
) -> list[StoredSeries]:
    """The series of `metrics`, by metric and id.

    Excludes series of workers whose lifetime doesn't overlap [start, stop) (microseconds).
    """
    rows = connection.execute(
        """SELECT series.id, metric, worker_id, type, labels::text FROM series
           LEFT JOIN worker ON worker.id = worker_id
           WHERE series.cluster_id = %s AND metric = ANY(%s)
             AND (worker_id IS NULL OR worker.started < %s AND (worker.ended IS NULL OR worker.ended > %s))
           ORDER BY metric COLLATE "C", series.id""",
        [cluster, list(metrics), from_microseconds(stop), from_microseconds(start)],
    ).fetchall()
    labels = decode_labels(text for *_, text in rows)
    return [StoredSeries(id, metric, worker, type, labels[text]) for id, metric, worker, type, text in rows]


def samples_since(
    connection: psycopg.Connection, cluster: int, starts: Mapping[int, int], stop: int
) -> dict[str, Array]:
    """The samples of each series from its time in `starts` (microseconds by id) up to `stop`.

    Returns columns of SAMPLE_TYPES, unordered. OFFSET 0 makes PostgreSQL look up each series by itself: it
    expects no samples after those of its statistics, and would compare each of them with all series.
    """
    if not starts:
        return _none()
    return fetch_packed_columns(
        connection,
        """SELECT series_id AS series, time, value
           FROM unnest(%(ids)s::int[], %(starts)s::timestamptz[]) AS wanted (id, start)
           CROSS JOIN LATERAL (
               SELECT series_id, time, value FROM sample
               WHERE series_id = wanted.id AND cluster_id = %(cluster)s
                 AND time >= wanted.start AND time >= %(first)s AND time < %(stop)s
               OFFSET 0
           ) AS found""",
        {
            "ids": list(starts),
            "starts": [from_microseconds(start) for start in starts.values()],
            "cluster": cluster,
            "first": from_microseconds(min(starts.values())),
            "stop": from_microseconds(stop),
        },
        SAMPLE_TYPES,
    )


def samples_before(
    connection: psycopg.Connection, cluster: int, starts: Mapping[int, int], oldest: int
) -> dict[str, Array]:
    """The last sample of each series before its time in `starts` (microseconds by id), not before `oldest`.

    Returns columns of SAMPLE_TYPES.
    """
    if not starts:
        return _none()
    return fetch_columns(
        connection,
        """SELECT series_id, time, value
           FROM unnest(%(ids)s::int[], %(starts)s::timestamptz[]) AS wanted (id, start)
           CROSS JOIN LATERAL (
               SELECT series_id, time, value FROM sample
               WHERE series_id = wanted.id AND cluster_id = %(cluster)s
                 AND time < wanted.start AND time < %(last)s AND time >= %(oldest)s
               ORDER BY time DESC LIMIT 1
           ) AS found""",
        {
            "ids": list(starts),
            "starts": [from_microseconds(start) for start in starts.values()],
            "cluster": cluster,
            "last": from_microseconds(max(starts.values())),
            "oldest": from_microseconds(oldest),
        },
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
