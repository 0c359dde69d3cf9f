"""Reads figures of each worker in a window, by which workers are compared."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg

from observatory.store.queries.timeline import OVERLAPS, WITHIN
from observatory.store.times import from_microseconds
from observatory.wire.records import Action

MEMORY_METRIC = "observatory_worker_memory_bytes"
MEMORY_SAMPLES = 32
"""of each worker, at equal distances in the window, from which the slope is computed"""
FEWEST_SAMPLES = 4

Figures = dict[int, float]
"""by worker"""

DURATIONS: LiteralString = f"""
    WITH computed AS (
        SELECT lane_id, prefix_id, extract(epoch FROM stop - start)::float8 AS seconds FROM span
        WHERE {OVERLAPS} AND action = %(compute)s),
    usual AS (
        SELECT prefix_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds
        FROM computed GROUP BY prefix_id)
    SELECT worker_id, sum(computed.seconds) / nullif(sum(usual.seconds), 0)
    FROM computed JOIN usual USING (prefix_id) JOIN lane ON lane.id = lane_id GROUP BY worker_id"""
RECEIVED: LiteralString = f"""
    SELECT worker_id, sum(nbytes)::float8 FROM span JOIN lane ON lane.id = lane_id
    WHERE span.{OVERLAPS} AND action = %(transfer)s GROUP BY worker_id"""
ERRORS: LiteralString = f"""
    SELECT worker_id, count(*)::float8 FROM error WHERE {WITHIN} AND worker_id IS NOT NULL
    GROUP BY worker_id"""
PAUSED: LiteralString = """
    SELECT worker_id, sum(extract(epoch FROM least(until, %(stop)s) - greatest(time, %(start)s)))::float8
    FROM (
        SELECT worker_id, time, event.detail->>'status' AS status,
            lead(time, 1, coalesce(worker.ended, %(stop)s)) OVER changes_of_worker AS until
        FROM event JOIN worker ON worker.id = worker_id
        WHERE event.cluster_id = %(cluster)s AND kind = 'worker-status' AND time < %(stop)s
        WINDOW changes_of_worker AS (PARTITION BY worker_id ORDER BY time)) AS changes
    WHERE changes.status = 'paused' AND until > %(start)s GROUP BY worker_id"""
MEMORY: LiteralString = """
    SELECT worker_id, regr_slope(value, at)
    FROM series CROSS JOIN generate_series(0, %(samples)s - 1) AS step CROSS JOIN LATERAL (
        SELECT value, extract(epoch FROM time)::float8 AS at FROM sample
        WHERE series_id = series.id AND cluster_id = %(cluster)s
            AND time >= %(start)s + step * (%(stop)s - %(start)s) / %(samples)s
            AND time < %(start)s + (step + 1) * (%(stop)s - %(start)s) / %(samples)s
        ORDER BY time LIMIT 1) AS found
    WHERE series.cluster_id = %(cluster)s AND metric = %(metric)s AND labels->>'type' = 'process'
        AND worker_id IS NOT NULL
    GROUP BY worker_id HAVING count(*) >= %(fewest)s"""


def duration_ratios(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> Figures:
    """Return the computing time of each worker over what its tasks take at the medians of their prefixes."""
    return _read(connection, DURATIONS, cluster, start, stop, compute=Action.COMPUTE)


def received_bytes(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> Figures:
    """Return the bytes that each worker got from others."""
    return _read(connection, RECEIVED, cluster, start, stop, transfer=Action.TRANSFER)


def error_counts(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> Figures:
    """Return the failed attempts on each worker."""
    return _read(connection, ERRORS, cluster, start, stop)


def paused_seconds(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> Figures:
    """Return how long each worker was paused."""
    return _read(connection, PAUSED, cluster, start, stop)


def memory_slopes(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> Figures:
    """Return by how much the memory of each worker's process grows, in bytes a second: a regression."""
    counts = {"samples": MEMORY_SAMPLES, "fewest": FEWEST_SAMPLES}
    return _read(connection, MEMORY, cluster, start, stop, metric=MEMORY_METRIC, **counts)


def _read(
    connection: psycopg.Connection, query: LiteralString, cluster: int, start: int, stop: int, **more: Any
) -> Figures:
    window = {"cluster": cluster, "start": from_microseconds(start), "stop": from_microseconds(stop)}
    rows = connection.execute(query, {**window, **more})
    return {worker: value for worker, value in rows if value is not None}
