"""What some of a cluster's workers did in a window: spans, errors, transfers and means of their metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from observatory.store.queries.sums.transfer_sums import FIRST_LOGGED, RECEIVED
from observatory.store.queries.timeline import OF_LANES, OVERLAPS, WITHIN
from observatory.store.queries.windows.comparison import WORKER_MEMORY
from observatory.store.queries.windows.row_counts import STARTS
from observatory.wire.records import Action

CPU, GIL = "observatory_worker_cpu_percent", "observatory_worker_gil_contention_ratio"
MEMORY_TYPES = ("process", "spilled")


@dataclass(frozen=True, slots=True)
class GroupWork:
    tasks: int
    """compute spans that stopped in the window"""
    errors: int
    """tasks that erred finally, as an agent reports them by worker"""
    seconds: dict[Action, float]
    """busy seconds, clipped to the window, summed over lanes"""
    received: int | None
    """bytes that came from other workers; None: their sizes aren't known"""


@dataclass(frozen=True, slots=True)
class WorkerUse:
    """A metric of a worker in the window."""

    worker: int
    metric: str
    type: str
    """of memory, as in its labels"""
    mean: float
    greatest: float


def lanes_of_workers(connection: psycopg.Connection, cluster: int, workers: Sequence[int]) -> list[int]:
    """Return the lanes of `workers`, which are ids of lifetimes."""
    rows = connection.execute(
        "SELECT id FROM lane WHERE cluster_id = %s AND worker_id = ANY(%s)", [cluster, list(workers)]
    )
    return [lane for (lane,) in rows]


def group_work(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    workers: Sequence[int],
    lanes: Sequence[int],
) -> GroupWork:
    """Return the work of `workers`, whose lanes are `lanes`, in the window [start, stop)."""
    window: dict[str, Any] = {
        "cluster": cluster,
        "start": start,
        "stop": stop,
        "workers": list(workers),
        "lanes": list(lanes),
    }
    rows = connection.execute(
        f"""SELECT action, count(*) FILTER (WHERE stop <= %(stop)s),
               sum(extract(epoch FROM least(stop, %(stop)s) - greatest(start, %(start)s)))::float8
           FROM span WHERE {OVERLAPS} AND {OF_LANES} GROUP BY action""",
        window,
    ).fetchall()
    by_action = {Action(action): (count, seconds) for action, count, seconds in rows}
    [errors] = connection.execute(
        f"""SELECT count(*) FROM error
            WHERE {WITHIN} AND outcome <> 'retried' AND worker_id = ANY(%(workers)s)""",
        window,
    ).fetchone() or [0]
    return GroupWork(
        tasks=by_action.get(Action.COMPUTE, (0, 0.0))[0],
        errors=errors,
        seconds={action: seconds for action, (_, seconds) in by_action.items()},
        received=_received(connection, window),
    )


def _received(connection: psycopg.Connection, window: dict[str, Any]) -> int | None:
    """Return the bytes of the transfers that began in the window; None where only spans tell of some."""
    row = connection.execute(
        f"""SELECT CASE WHEN NOT EXISTS (
                SELECT FROM span WHERE {STARTS} AND {OF_LANES} AND action = {int(Action.TRANSFER)}
                  AND start < coalesce({FIRST_LOGGED}, 'infinity'))
            THEN (SELECT least(coalesce(sum(nbytes), 0), 9e18)::bigint FROM transfer
                  WHERE {STARTS} AND {RECEIVED} AND worker_id = ANY(%(workers)s))
            END""",
        window,
    ).fetchone()
    return row[0] if row else None


def worker_use(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, workers: Sequence[int]
) -> list[WorkerUse]:
    """Return mean and greatest value of memory (process, spilled), CPU and GIL of each of `workers`."""
    rows = connection.execute(
        f"""SELECT worker_id, metric, coalesce(labels->>'type', ''), avg(value), max(value)
            FROM sample JOIN series ON series.id = series_id
            WHERE sample.{WITHIN} AND series.cluster_id = %(cluster)s AND worker_id = ANY(%(workers)s)
              AND metric = ANY(%(metrics)s) AND coalesce(labels->>'type', '') = ANY(%(types)s)
              AND abs(value) < 'Infinity'
            GROUP BY 1, 2, 3""",
        {
            "cluster": cluster,
            "start": start,
            "stop": stop,
            "workers": list(workers),
            "metrics": [WORKER_MEMORY, CPU, GIL],
            "types": ["", *MEMORY_TYPES],
        },
    )
    return [WorkerUse(*row) for row in rows]
