"""Totals of a window of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from observatory.store.queries.progress import entered_until
from observatory.store.queries.sums.transfer_sums import FIRST_LOGGED
from observatory.store.queries.windows.other_work import NONE, OtherWork
from observatory.store.queries.windows.row_counts import STARTS
from observatory.store.times import to_microseconds
from observatory.store.worker_processes import PROCESS
from observatory.wire.event_kinds import EVENT_KINDS, Gap
from observatory.wire.metrics import computed_tasks
from observatory.wire.records import Action

MEMORY = "observatory_worker_memory_bytes"
GAPS = tuple(
    kind.name
    for kind in EVENT_KINDS.values()
    if (kind.opens or kind.closes) and kind.opens is not Gap.SAMPLES
)
"""kinds of the events at gaps in which spans can be missing"""
LONGEST_GAP = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WindowTotals:
    """Seconds are summed over lanes with spans clipped to the window; memory is summed over workers.

    Tasks, errors and seconds are without the work of others.
    """

    tasks: int
    """compute spans that stopped in the window; if it has gaps, the scheduler's count where it is more"""
    errors: int
    """tasks that erred finally, as far as the sources reported them"""
    seconds: dict[str, float]
    """busy seconds by the label of the action"""
    transferred: int | None
    """bytes of the transfers between workers that began in the window; None: their sizes aren't known"""
    workers: int
    """worker lifetimes that overlap the window"""
    threads: int
    memory_limit: int
    """bytes, summed over worker lifetimes; those without a limit count as 0"""
    lane_seconds: float
    """seconds that threads existed in the window, summed; the rest after busy seconds is idle time"""
    worker_seconds: float
    """seconds that workers existed in the window, summed"""
    memory_seconds: float
    """bytes of the workers' memory limits times the seconds that they existed in the window"""
    peak_memory: float | None
    """maximum over time of the memory of the workers' processes, summed (bytes); None: no samples"""
    other_tasks: int = 0
    """of others, counted as `tasks`"""
    other_seconds: float = 0.0
    """in which threads computed these"""


@dataclass(frozen=True, slots=True)
class WorkerExistence:
    """How long the workers of a window existed in it: sums over lifetimes."""

    workers: int
    threads: int
    memory_limit: int
    """bytes; a worker without a limit counts as 0"""
    worker_seconds: float
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
    """Return the workers of the window [start, stop), of `workers` (None: all)."""
    row = connection.execute(
        """SELECT count(*), coalesce(sum(nthreads), 0), least(coalesce(sum(memory_limit), 0), 9e18)::bigint,
               coalesce(sum(seconds), 0)::float8, coalesce(sum(nthreads * seconds), 0)::float8,
               coalesce(sum(memory_limit * seconds), 0)::float8
           FROM (
               SELECT nthreads, memory_limit, extract(epoch FROM
                   least(coalesce(ended, %(stop)s), %(stop)s) - greatest(started, %(start)s)) AS seconds
               FROM worker WHERE cluster_id = %(cluster)s AND started < %(stop)s
                 AND (ended IS NULL OR ended > %(start)s)
                 AND (%(workers)s::int[] IS NULL OR id = ANY(%(workers)s))
           ) AS found""",
        {"cluster": cluster, "start": start, "stop": stop, "workers": workers},
    ).fetchone()
    return WorkerExistence(*row) if row else WorkerExistence(0, 0, 0, 0.0, 0.0, 0.0)


def window_totals(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, others: OtherWork = NONE
) -> WindowTotals:
    """Return the totals of the window [start, stop)."""
    window: dict[str, Any] = {"cluster": cluster, "start": start, "stop": stop}
    rows = connection.execute(
        f"""SELECT action, {others.includes("span")},
               count(*) FILTER (WHERE stop <= %(stop)s AND stop > %(start)s),
               sum(extract(epoch FROM least(stop, %(stop)s) - greatest(start, %(start)s)))::float8
           FROM span WHERE cluster_id = %(cluster)s AND start < %(stop)s AND stop > %(start)s
           GROUP BY 1, 2""",
        {**window, **others.parameters},
    ).fetchall()
    by_action = {Action(action): sums for action, is_other, *sums in rows if not is_other}
    of_others = {Action(action): sums for action, is_other, *sums in rows if is_other}
    existence = worker_existence(connection, cluster, start, stop)
    tasks = by_action.get(Action.COMPUTE, (0, 0.0))[0]
    other_tasks, other_seconds = of_others.get(Action.COMPUTE, (0, 0.0))
    # of two clients' tasks the scheduler's count is of both
    is_counted = not others and _has_gap(connection, window)
    return WindowTotals(
        tasks=max(tasks, _counted_tasks(connection, window)) if is_counted else tasks,
        errors=count_errors(connection, cluster, start, stop, others),
        seconds={action.label: seconds for action, (_, seconds) in by_action.items()},
        transferred=_transferred(connection, window),
        workers=existence.workers,
        threads=existence.threads,
        memory_limit=existence.memory_limit,
        lane_seconds=existence.thread_seconds,
        worker_seconds=existence.worker_seconds,
        memory_seconds=existence.memory_seconds,
        peak_memory=_peak_memory(connection, window),
        other_tasks=other_tasks,
        other_seconds=other_seconds,
    )


def _transferred(connection: psycopg.Connection, window: dict[str, Any]) -> int | None:
    """Return the bytes that moved between workers: their logs tell, which only agents report."""
    row = connection.execute(
        f"""SELECT CASE WHEN NOT EXISTS (
                SELECT FROM span WHERE {STARTS} AND action = {int(Action.TRANSFER)}
                  AND start < coalesce({FIRST_LOGGED}, 'infinity'))
            THEN (SELECT least(coalesce(sum(nbytes), 0), 9e18)::bigint FROM transfer
                  WHERE {STARTS} AND direction = 0)
            END""",
        window,
    ).fetchone()
    return row[0] if row else None


def _has_gap(connection: psycopg.Connection, window: dict[str, Any]) -> bool:
    """Return whether a gap in the recording overlaps the window, or an event in it begins or ends one."""
    row = connection.execute(
        """SELECT EXISTS (
               SELECT FROM event
               WHERE cluster_id = %(cluster)s AND kind = ANY(%(gaps)s)
                 AND time < %(stop)s AND time > %(start)s - %(longest)s
                 AND greatest(time, CASE WHEN jsonb_typeof(detail->'last') = 'number'
                     THEN to_timestamp(least((detail->>'last')::numeric, 1e10)::float8) END) > %(start)s)""",
        {**window, "gaps": list(GAPS), "longest": LONGEST_GAP},
    ).fetchone()
    return bool(row and row[0])


def _counted_tasks(connection: psycopg.Connection, window: dict[str, Any]) -> int:
    """Return how many tasks the scheduler counted as finished in the window."""
    before, after = (
        entered_until(connection, window["cluster"], to_microseconds(window[edge])).counts
        for edge in ("start", "stop")
    )
    return sum(
        max(0, int(computed_tasks(counts) - computed_tasks(before.get(prefix, {}))))
        for prefix, counts in after.items()
    )


def count_errors(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, others: OtherWork = NONE
) -> int:
    """Count errors as the extent does: an agent's error records, plus the counts of tasks-erred events."""
    row = connection.execute(
        f"""SELECT (SELECT count(*) FROM error WHERE cluster_id = %(cluster)s
                     AND time >= %(start)s AND time < %(stop)s AND outcome <> 'retried'
                     AND NOT {others.includes("error")})
                + (SELECT coalesce(sum(least((detail->'count')::numeric, 1000000000)), 0) FROM event
                   WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
                     AND kind = 'tasks-erred' AND jsonb_typeof(detail->'count') = 'number')""",
        {"cluster": cluster, "start": start, "stop": stop, **others.parameters},
    ).fetchone()
    return int(row[0]) if row else 0


def _peak_memory(connection: psycopg.Connection, window: dict[str, Any]) -> float | None:
    """Return the maximum over bins of five seconds of the processes' summed peaks."""
    row = connection.execute(
        f"""SELECT max(total) FROM (
               SELECT sum(peak) AS total FROM (
                   SELECT date_bin('5 seconds', time, 'epoch') AS bin, {PROCESS} AS process,
                       max(value) AS peak
                   FROM sample JOIN series ON series.id = series_id JOIN worker ON worker.id = worker_id
                   WHERE sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
                     AND series.cluster_id = %(cluster)s AND metric = %(metric)s
                     AND labels @> '{{"type": "process"}}' AND value < 'Infinity'
                   GROUP BY bin, process
               ) AS by_process GROUP BY bin
           ) AS by_bin""",
        {**window, "metric": MEMORY},
    ).fetchone()
    return None if row is None else row[0]
