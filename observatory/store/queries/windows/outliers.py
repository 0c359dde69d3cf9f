"""Reads figures of each worker, and long tasks, of a window, which are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import decode_key
from observatory.store.queries.timeline import OVERLAPS, WITHIN, window_parameters
from observatory.store.times import from_microseconds
from observatory.wire.records import Action, Status

MEMORY_METRIC = "observatory_worker_memory_bytes"
MEMORY_SAMPLES = 32
"""of each worker, at equal distances in the window, from which the slope is computed"""
FEWEST_SAMPLES = 4

Figures = dict[int, float]
"""by worker"""


@dataclass(frozen=True, slots=True)
class Computing:
    worker: int
    seconds: float
    usual: float
    """seconds that its tasks take at the medians of their prefixes"""


@dataclass(frozen=True, slots=True)
class LongTask:
    """A span that computed, with the median of its prefix. Times are seconds."""

    worker: int
    lane: int
    prefix: int
    key: str
    start: float
    stop: float
    usual: float

    @property
    def seconds(self) -> float:
        return self.stop - self.start


COMPUTED: LiteralString = f"""
    WITH computed AS (
        SELECT lane_id, prefix_id, group_id, key_rest, start, stop,
            extract(epoch FROM stop - start)::float8 AS seconds
        FROM span WHERE {OVERLAPS} AND action = %(compute)s),
    usual AS (
        SELECT prefix_id, count(*) AS tasks,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::float8 AS seconds
        FROM computed GROUP BY prefix_id)"""
DURATIONS: LiteralString = f"""{COMPUTED}
    SELECT worker_id AS worker, sum(computed.seconds) AS seconds, sum(usual.seconds) AS usual
    FROM computed JOIN usual USING (prefix_id) JOIN lane ON lane.id = lane_id GROUP BY worker_id"""
TASK: LiteralString = """worker_id AS worker, lane_id AS lane, span.prefix_id AS prefix, key_rest,
    task_group.name AS group_name, extract(epoch FROM start)::float8 AS start,
    extract(epoch FROM stop)::float8 AS stop"""
STRAGGLERS: LiteralString = f"""
    WITH computed AS (
        SELECT lane_id, prefix_id, group_id, key_rest, start, stop,
            extract(epoch FROM stop - start)::float8 AS seconds
        FROM span WHERE {OVERLAPS} AND action = %(compute)s AND status = %(finished)s),
    by_prefix AS (
        SELECT prefix_id, array_agg(seconds ORDER BY seconds) AS durations, count(*) AS tasks,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::float8 AS seconds
        FROM computed GROUP BY prefix_id),
    usual AS MATERIALIZED (  -- else PostgreSQL reads the durations of all tasks for each task
        SELECT prefix_id, tasks, seconds, greatest(%(shortest)s, durations[(tasks - 1) / 4 + 1]) AS lower,
            greatest(%(shortest)s, durations[(tasks - 1) * 3 / 4 + 1]) AS upper
        FROM by_prefix)
    SELECT {TASK}, usual.seconds AS usual
    FROM computed AS span JOIN usual USING (prefix_id)
    JOIN lane ON lane.id = lane_id JOIN task_group ON task_group.id = group_id
    WHERE usual.tasks >= %(fewest)s AND usual.seconds > 0
        AND span.seconds >= greatest(%(ratio)s * usual.seconds, usual.seconds + %(excess)s)
        AND span.seconds > upper * power(least(upper / lower, %(widest)s), %(fence)s)
    ORDER BY span.seconds - usual.seconds DESC, start, lane_id LIMIT %(most)s"""
LONGEST_OF_WORKER: LiteralString = f"""
    SELECT {TASK}, %(usual)s::float8 AS usual
    FROM span JOIN lane ON lane.id = lane_id JOIN task_group ON task_group.id = group_id
    WHERE span.{OVERLAPS} AND start >= %(earliest)s AND action = %(compute)s
        AND worker_id = %(worker)s AND span.prefix_id = %(prefix)s
    ORDER BY stop - start DESC, start, lane_id LIMIT 1"""
ERRORS: LiteralString = f"""
    SELECT worker_id, count(*)::float8 FROM error WHERE {WITHIN} AND worker_id IS NOT NULL
    GROUP BY worker_id"""
PAUSES: LiteralString = """
    SELECT worker_id, time, until
    FROM (
        SELECT worker_id, time, event.detail->>'status' AS status,
            lead(time, 1, coalesce(worker.ended, %(stop)s)) OVER changes_of_worker AS until
        FROM event JOIN worker ON worker.id = worker_id
        WHERE event.cluster_id = %(cluster)s AND kind = 'worker-status' AND time < %(stop)s
        WINDOW changes_of_worker AS (PARTITION BY worker_id ORDER BY time)) AS changes
    WHERE changes.status = 'paused' AND until > %(start)s"""
PAUSED: LiteralString = f"""
    SELECT worker_id, sum(extract(epoch FROM least(until, %(stop)s) - greatest(time, %(start)s)))::float8
    FROM ({PAUSES}) AS pause GROUP BY worker_id"""
MEMORY: LiteralString = """
    SELECT worker_id, regr_slope(value, at)
    FROM series CROSS JOIN generate_series(0, %(samples)s - 1) AS step CROSS JOIN LATERAL (
        SELECT value, extract(epoch FROM time - %(start)s)::float8 AS at FROM sample
        WHERE series_id = series.id AND cluster_id = %(cluster)s
            AND time >= %(start)s + step * (%(stop)s - %(start)s) / %(samples)s
            AND time < %(start)s + (step + 1) * (%(stop)s - %(start)s) / %(samples)s
        ORDER BY time LIMIT 1) AS found
    WHERE series.cluster_id = %(cluster)s AND metric = %(metric)s AND labels->>'type' = 'process'
        AND worker_id IS NOT NULL
    GROUP BY worker_id HAVING count(*) >= %(fewest)s"""


def computing(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[Computing]:
    """Return how long each worker computed; reads all spans of the window."""
    with connection.cursor(row_factory=class_row(Computing)) as cursor:
        window = window_parameters(cluster, start, stop)
        return cursor.execute(DURATIONS, {**window, "compute": Action.COMPUTE}).fetchall()


def stragglers(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    stop: int,
    ratio: float,
    excess: float,
    fence: float,
    widest: float,
    shortest: float,
    fewest: int,
    most: int,
) -> list[LongTask]:
    """Return the tasks that took longest beyond the median of a prefix with `fewest` tasks.

    At least `ratio` times the median, `excess` seconds above it, and `fence` interquartile ranges above the
    upper quartile, both of logarithms of at least `shortest` seconds, the upper quartile counting as at most
    `widest` times the lower one. Reads all spans of the window.
    """
    limits = {"ratio": ratio, "excess": excess, "fewest": fewest, "most": most}
    limits |= {"fence": fence, "widest": widest, "shortest": shortest}
    actions = {"compute": Action.COMPUTE, "finished": Status.OK}
    return _tasks(connection, STRAGGLERS, {**window_parameters(cluster, start, stop), **limits, **actions})


def longest_task(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    stop: int,
    worker: int,
    prefix: int,
    longest: float,
    usual: float,
) -> LongTask | None:
    """Return the longest task of a worker and prefix in a window; none takes over `longest` seconds."""
    earliest = from_microseconds(start - round(longest * 1e6))
    of = {"worker": worker, "prefix": prefix, "earliest": earliest, "usual": usual, "compute": Action.COMPUTE}
    found = _tasks(connection, LONGEST_OF_WORKER, {**window_parameters(cluster, start, stop), **of})
    return found[0] if found else None


def hosts(connection: psycopg.Connection, cluster: int) -> dict[int, str]:
    """Return the host of each worker; where that is unknown, its address without the port."""
    rows = connection.execute(
        """SELECT id, coalesce(nullif(host, ''), regexp_replace(address, '^\\w+://|:\\d+$', '', 'g'))
           FROM worker WHERE cluster_id = %s""",
        [cluster],
    )
    return dict(rows.fetchall())


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
    rows = connection.execute(query, {**window_parameters(cluster, start, stop), **more})
    return {worker: value for worker, value in rows if value is not None}


def _tasks(
    connection: psycopg.Connection, query: LiteralString, parameters: dict[str, Any]
) -> list[LongTask]:
    rows = connection.execute(query, parameters).fetchall()
    return [
        LongTask(worker, lane, prefix, decode_key(rest, group), start, stop, usual)
        for worker, lane, prefix, rest, group, start, stop, usual in rows
    ]
