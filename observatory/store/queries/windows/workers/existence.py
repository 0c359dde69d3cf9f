"""How many workers a window had, and how long they existed in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.workers.slots import SLOT

EXISTENCE: LiteralString = f"""
    WITH lifetime AS (
        SELECT id, {SLOT} AS slot, nthreads, memory_limit, started, ended
        FROM worker WHERE cluster_id = %(cluster)s AND started < %(stop)s
          AND (ended IS NULL OR ended > %(start)s)
          AND (%(workers)s::int[] IS NULL OR id = ANY(%(workers)s))),
    -- a slot has one worker at a time: the next one ends a lifetime whose end was recorded late or never
    existing AS (
        SELECT slot, nthreads AS threads, memory_limit::numeric AS memory_limit,
            greatest(started, %(start)s) AS begun,
            least(ended, lead(started) OVER (PARTITION BY slot ORDER BY started, id), %(stop)s) AS until
        FROM lifetime),
    change AS (
        SELECT begun AS time, 1 AS workers, threads, memory_limit FROM existing WHERE until > begun
        UNION ALL
        SELECT until, -1, -threads, -memory_limit FROM existing WHERE until > begun),
    at_a_time AS (
        SELECT sum(sum(workers)) OVER (ORDER BY time) AS workers,
            sum(sum(threads)) OVER (ORDER BY time) AS threads,
            sum(sum(memory_limit)) OVER (ORDER BY time) AS memory_limit
        FROM change GROUP BY time)
    SELECT whole.*, coalesce(most.workers, 0)::bigint AS most_workers,
        coalesce(most.threads, 0)::bigint AS threads,
        least(coalesce(most.memory_limit, 0), 9e18)::bigint AS memory_limit
    FROM (
        SELECT count(DISTINCT slot) AS workers, count(*) AS lifetimes,
            coalesce(sum(seconds), 0)::float8 AS worker_seconds,
            coalesce(sum(threads * seconds), 0)::float8 AS thread_seconds,
            coalesce(sum(memory_limit * seconds), 0)::float8 AS memory_seconds
        FROM (SELECT *, greatest(extract(epoch FROM until - begun), 0) AS seconds FROM existing) AS lived
    ) AS whole, (
        SELECT max(workers) AS workers, max(threads) AS threads, max(memory_limit) AS memory_limit
        FROM at_a_time
    ) AS most"""


@dataclass(frozen=True, slots=True)
class WorkerExistence:
    """The workers of a window. A worker is a slot: one that was restarted is one with two lifetimes."""

    workers: int
    lifetimes: int
    most_workers: int
    """at a time, as threads and memory limit"""
    threads: int
    memory_limit: int
    """bytes; a worker without a limit counts as 0"""
    worker_seconds: float
    """sums over lifetimes"""
    thread_seconds: float
    memory_seconds: float
    """bytes of limits times seconds"""


def worker_existence(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    workers: Sequence[int] | None = None,
) -> WorkerExistence:
    """Return the workers of the window [start, stop), of the lifetimes `workers` (None: all)."""
    with connection.cursor(row_factory=class_row(WorkerExistence)) as cursor:
        parameters = {"cluster": cluster, "start": start, "stop": stop, "workers": workers}
        [found] = cursor.execute(EXISTENCE, parameters).fetchall()
    return found
