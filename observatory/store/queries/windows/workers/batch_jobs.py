"""The workers of a window that ran in jobs of batch systems, and what those of each place used together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.queries.windows.workers.peak_memory import BIN, MEMORY
from observatory.store.queries.windows.workers.worker_groups import CPU
from observatory.store.workers.processes import PROCESS
from observatory.store.workers.slots import SLOT
from observatory.wire.workers.batch_jobs import BATCH_JOB

# As in peak_memory.py: workers that share a process report its memory and its CPU, each; of a worker that was
# restarted within a bin the larger process counts.
USE: LiteralString = f"""
    WITH member AS MATERIALIZED (
        SELECT id, place, {PROCESS} AS process, {SLOT} AS slot
        FROM unnest(%(workers)s::int[], %(places)s::int[]) AS given (worker_id, place)
        JOIN worker ON worker.id = given.worker_id
        WHERE worker.cluster_id = %(cluster)s),
    by_worker AS (
        SELECT metric, coalesce(labels->>'type', '') AS type, date_bin(%(width)s, time, 'epoch') AS bin,
            worker_id, max(value) AS most, avg(value) AS mean
        FROM sample JOIN series ON series.id = series_id
        WHERE sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
          AND series.cluster_id = %(cluster)s AND value < 'Infinity'
          AND (metric = %(cpu)s
               OR metric = %(memory)s AND labels->>'type' IN ('process', 'managed', 'spilled'))
        GROUP BY 1, 2, 3, 4),
    by_process AS (
        SELECT place, metric, type, bin, min(slot) AS slot, max(most) AS most, max(mean) AS mean
        FROM by_worker JOIN member ON member.id = worker_id
        GROUP BY place, metric, type, bin,
            CASE WHEN type IN ('managed', 'spilled') THEN id::text ELSE process END),
    by_slot AS (
        SELECT place, metric, type, bin, max(most) AS most, max(mean) AS mean
        FROM by_process GROUP BY place, metric, type, bin, slot),
    by_bin AS (
        SELECT place, metric, type, sum(most) AS most, max(most) AS of_one, sum(mean) AS mean
        FROM by_slot GROUP BY place, metric, type, bin)
    SELECT place, metric, type, max(most)::float8 AS most, max(of_one)::float8 AS of_one,
        max(mean)::float8 AS most_mean, avg(mean)::float8 AS mean, count(*) AS bins
    FROM by_bin GROUP BY place, metric, type ORDER BY place, metric, type"""

# One value of each series at each of some instants: a day of a thousand workers has hundreds of millions of
# samples, and these are found by the index of series and time.
MEANS: LiteralString = """
    SELECT series.worker_id AS worker, metric, avg(found.value)::float8 AS mean
    FROM series
    CROSS JOIN generate_series(
        %(start)s::timestamptz, %(stop)s::timestamptz, %(step)s::interval) AS instant (at)
    CROSS JOIN LATERAL (
        SELECT value FROM sample
        WHERE series_id = series.id AND sample.cluster_id = %(cluster)s
          AND time >= at AND time < least(at + %(width)s::interval, %(stop)s) AND value < 'Infinity'
        ORDER BY time LIMIT 1) AS found
    WHERE series.cluster_id = %(cluster)s AND series.worker_id = ANY(%(workers)s)
      AND (metric = %(cpu)s OR metric = %(memory)s AND labels->>'type' = 'process')
    GROUP BY 1, 2 ORDER BY 1, 2"""
MOST_INSTANTS = 240
NEAR = timedelta(seconds=30)
"""after an instant, in which a worker has a sample"""


@dataclass(frozen=True, slots=True)
class WorkerInJob:
    """A lifetime of a worker whose detail tells of a job."""

    id: int
    slot: str
    host: str
    started: datetime
    ended: datetime | None
    memory_limit: int
    """bytes; 0: none"""
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlaceUse:
    """A metric of the workers of a place, summed over them in each bin of 5 s."""

    place: int
    metric: str
    type: str
    """of memory, as in its labels"""
    most: float
    """at a time"""
    of_one: float
    """the most of one worker"""
    most_mean: float
    """the most of a bin, in the mean of the bin"""
    mean: float
    bins: int
    """that have samples"""


def workers_in_jobs(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> list[WorkerInJob]:
    """Return the workers in jobs whose lifetime overlaps the window [start, stop)."""
    with connection.cursor(row_factory=class_row(WorkerInJob)) as cursor:
        return cursor.execute(
            f"""SELECT id, {SLOT} AS slot, host, started, ended, memory_limit, detail FROM worker
               WHERE cluster_id = %s AND started < %s AND (ended IS NULL OR ended > %s)
                 AND jsonb_exists(detail, '{BATCH_JOB}') ORDER BY position""",
            [cluster, stop, start],
        ).fetchall()


def use_by_place(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    workers: Sequence[int],
    places: Sequence[int],
) -> list[PlaceUse]:
    """Return the CPU and memory of `workers` in [start, stop), by the place of each, a number."""
    parameters = {
        **{"cluster": cluster, "start": start, "stop": stop},
        **{"workers": list(workers), "places": list(places)},
        **{"width": BIN, "cpu": CPU, "memory": MEMORY},
    }
    with connection.cursor(row_factory=class_row(PlaceUse)) as cursor:
        return cursor.execute(USE, parameters).fetchall()


def mean_use(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, workers: Sequence[int]
) -> dict[tuple[int, str], float]:
    """Return the means of the CPU and the memory of the process of each of `workers`, by worker and metric.

    They are those of up to MOST_INSTANTS instants of [start, stop), whatever its length.
    """
    parameters = {
        **{"cluster": cluster, "start": start, "stop": stop, "workers": list(workers)},
        **{"step": max((stop - start) / MOST_INSTANTS, BIN), "width": NEAR},
        **{"cpu": CPU, "memory": MEMORY},
    }
    rows = connection.execute(MEANS, parameters)
    return {(worker, metric): mean for worker, metric, mean in rows}
