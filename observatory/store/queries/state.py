"""Reads the state of a cluster at a point in time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg.rows import args_row

from observatory.store.queries.labels import decode_labels
from observatory.store.times import from_microseconds
from observatory.wire.records import Action

LONGEST_CLUSTER = 365 * 86_400.0
"""seconds"""
HEARTBEAT = "observatory_worker_memory_bytes"
"""what each heartbeat has, from whatever source"""

_ALIVE: LiteralString = "worker.started <= %(at)s AND (worker.ended IS NULL OR worker.ended > %(at)s)"
# of one worker, from the index: OFFSET keeps the planner from reading those of all workers that ever were
_SERIES: LiteralString = """
    SELECT id, metric, labels, worker_id FROM series
    WHERE cluster_id = %(cluster)s AND metric = ANY(%(metrics)s) AND worker_id = worker.id OFFSET 0"""
_LAST: LiteralString = f"""
    WITH series AS MATERIALIZED (
        SELECT found.* FROM worker CROSS JOIN LATERAL ({_SERIES}) AS found
        WHERE worker.cluster_id = %(cluster)s AND {_ALIVE}
        UNION ALL
        SELECT id, metric, labels, worker_id FROM series
        WHERE cluster_id = %(cluster)s AND metric = ANY(%(metrics)s) AND worker_id IS NULL
    )
    SELECT id, metric, labels, worker_id, value, time FROM series
    CROSS JOIN LATERAL (
        SELECT value, time FROM sample
        WHERE sample.series_id = series.id AND sample.cluster_id = %(cluster)s
          AND time <= %(at)s AND time >= %(oldest)s
        ORDER BY time DESC LIMIT 1
    ) AS newest"""
"""the last sample of each series; needs `_last_parameters`"""
# what the change before then said; a worker without any change has the status that was reported last
_STATUS: LiteralString = """CASE
    WHEN changed.is_before AND changed.status IS NOT NULL THEN changed.status
    WHEN changed.worker_id IS NULL AND worker.ended IS NULL THEN worker.status
    ELSE 'running' END"""


class LiveWorker(NamedTuple):
    """A worker that was alive then."""

    id: int
    status: str
    ended: float | None
    """seconds"""
    nthreads: int
    memory_limit: int
    running: int
    """lanes that were computing"""


class LastSample(NamedTuple):
    """The last sample of a series until then."""

    metric: str
    labels: dict[str, str]
    worker: int | None
    value: float
    time: datetime


class LastValues(NamedTuple):
    """The last samples until then of the series of a metric with the same labels."""

    metric: str
    labels: dict[str, str]
    values: dict[int | None, float]
    """by worker; None: of the cluster"""
    time: datetime
    """of the newest sample"""


def live_workers(connection: psycopg.Connection, cluster: int, at: int) -> list[LiveWorker]:
    """Return the workers alive at `at` (microseconds), in order of their start."""
    cursor = connection.cursor(row_factory=args_row(LiveWorker))
    return cursor.execute(
        f"""WITH alive AS MATERIALIZED (
               SELECT id, started, ended, status, nthreads, memory_limit FROM worker
               WHERE cluster_id = %(cluster)s AND {_ALIVE}
           ), running AS MATERIALIZED (
               SELECT DISTINCT lane_id FROM span
               WHERE cluster_id = %(cluster)s AND start <= %(at)s AND stop > %(at)s AND action = %(compute)s
           ), changed AS MATERIALIZED (
               SELECT DISTINCT ON (worker_id)
                   worker_id, time <= %(at)s AS is_before, detail->>'status' AS status
               FROM event JOIN alive ON alive.id = worker_id
               WHERE cluster_id = %(cluster)s AND kind = 'worker-status'
                 AND time >= (SELECT min(started) FROM alive)
               ORDER BY worker_id, time <= %(at)s DESC, time DESC
           )
           SELECT worker.id, {_STATUS}, extract(epoch FROM worker.ended)::float8, nthreads, memory_limit,
               count(running.lane_id)
           FROM alive AS worker
           LEFT JOIN changed ON changed.worker_id = worker.id
           LEFT JOIN (lane JOIN running ON lane_id = lane.id) ON lane.worker_id = worker.id
           GROUP BY worker.id, worker.started, worker.ended, worker.status, nthreads, memory_limit,
               changed.worker_id, changed.is_before, changed.status
           ORDER BY worker.started, worker.id""",
        {"cluster": cluster, "at": from_microseconds(at), "compute": int(Action.COMPUTE)},
    ).fetchall()


def last_heard(connection: psycopg.Connection, cluster: int, at: int, since: int = 0) -> dict[int, float]:
    """Return when each worker that was alive at `at` last reported its memory, in seconds, by worker.

    Samples before `since` are ignored. `at` and `since` are in microseconds.
    """
    rows = connection.execute(
        f"""WITH series AS MATERIALIZED (
               SELECT found.id, worker_id, started FROM worker CROSS JOIN LATERAL ({_SERIES}) AS found
               WHERE worker.cluster_id = %(cluster)s AND {_ALIVE} AND found.labels->>'type' = 'process'
           )
           SELECT worker_id, extract(epoch FROM newest.time)::float8 FROM series
           CROSS JOIN LATERAL (
               SELECT time FROM sample
               WHERE sample.series_id = series.id AND sample.cluster_id = %(cluster)s
                 AND time <= %(at)s AND time >= greatest(started, %(oldest)s)
               ORDER BY time DESC LIMIT 1
           ) AS newest""",
        _last_parameters(cluster, [HEARTBEAT], at, LONGEST_CLUSTER, since),
    ).fetchall()
    return dict(rows)


def heartbeat_series(
    connection: psycopg.Connection, cluster: int, at: int
) -> tuple[set[tuple[int, str, str]], datetime | None]:
    """Return the series of `last_heard`, and when the first of the workers that were alive at `at` started.

    A series is the worker's position, metric and labels as JSON. `at` is in microseconds.
    """
    rows = connection.execute(
        f"""SELECT position, metric, labels::text, started FROM worker CROSS JOIN LATERAL ({_SERIES}) AS found
            WHERE worker.cluster_id = %(cluster)s AND {_ALIVE} AND found.labels->>'type' = 'process'""",
        {"cluster": cluster, "metrics": [HEARTBEAT], "at": from_microseconds(at)},
    ).fetchall()
    since = min((started for *_, started in rows), default=None)
    return {(position, metric, labels) for position, metric, labels, _ in rows}, since


def last_rates(
    connection: psycopg.Connection, cluster: int, metric: str, at: int, max_age: float, since: int = 0
) -> dict[int, float]:
    """Return a counter's rate by living worker, from its last two samples as `last_samples` finds them."""
    rows = connection.execute(
        f"""WITH series AS MATERIALIZED (
               SELECT found.id, found.worker_id FROM worker CROSS JOIN LATERAL ({_SERIES}) AS found
               WHERE worker.cluster_id = %(cluster)s AND {_ALIVE}
           )
           SELECT worker_id,
               (newest.value - before.value) / extract(epoch FROM newest.time - before.time)::float8
           FROM series
           CROSS JOIN LATERAL (
               SELECT time, value FROM sample
               WHERE sample.series_id = series.id AND time <= %(at)s AND time >= %(oldest)s
               ORDER BY time DESC LIMIT 1
           ) AS newest
           CROSS JOIN LATERAL (
               SELECT time, value FROM sample
               WHERE sample.series_id = series.id AND time < newest.time AND time >= %(oldest)s
               ORDER BY time DESC LIMIT 1
           ) AS before
           WHERE newest.value >= before.value""",
        _last_parameters(cluster, [metric], at, max_age, since),
    ).fetchall()
    return dict(rows)


def last_samples(
    connection: psycopg.Connection,
    cluster: int,
    metrics: Sequence[str],
    at: int,
    max_age: float,
    since: int = 0,
) -> list[LastSample]:
    """Return the last sample of each series of `metrics` in the `max_age` seconds until `at`.

    Samples before `since` are ignored, and those of workers that weren't alive: where workers come and go,
    most series are theirs. `at` and `since` are in microseconds.
    """
    rows = connection.execute(
        f"SELECT metric, labels::text, worker_id, value, time FROM ({_LAST}) AS last ORDER BY id",
        _last_parameters(cluster, metrics, at, max_age, since),
    ).fetchall()
    labels = decode_labels(text for _, text, *_ in rows)
    return [LastSample(metric, labels[text], *rest) for metric, text, *rest in rows]


def last_values(
    connection: psycopg.Connection,
    cluster: int,
    metrics: Sequence[str],
    at: int,
    max_age: float,
    since: int = 0,
) -> list[LastValues]:
    """Return what `last_samples` does, by metric and labels: a thousand workers have 6,000 samples."""
    rows = connection.execute(
        f"""SELECT metric, labels, array_agg(worker_id), array_agg(value), max(time)
            FROM ({_LAST}) AS last GROUP BY metric, labels ORDER BY min(id)""",
        _last_parameters(cluster, metrics, at, max_age, since),
    ).fetchall()
    return [
        LastValues(metric, labels, dict(zip(workers, values, strict=True)), newest)
        for metric, labels, workers, values, newest in rows
    ]


def _last_parameters(
    cluster: int, metrics: Sequence[str], at: int, max_age: float, since: int
) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "metrics": list(metrics),
        "at": from_microseconds(at),
        "oldest": max(from_microseconds(at) - timedelta(seconds=max_age), from_microseconds(since)),
    }
