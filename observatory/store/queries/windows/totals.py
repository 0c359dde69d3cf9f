"""Totals of a window of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from observatory.store.queries.progress import entered_until
from observatory.store.queries.sums.transfer_sums import FIRST_LOGGED, RECEIVED
from observatory.store.queries.windows.other_work import NONE, OtherWork
from observatory.store.queries.windows.row_counts import STARTS
from observatory.store.queries.windows.workers.existence import worker_existence
from observatory.store.queries.windows.workers.peak_memory import peak_memory
from observatory.store.times import to_microseconds
from observatory.wire.event_kinds import EVENT_KINDS, Gap
from observatory.wire.metrics import computed_tasks
from observatory.wire.records import Action

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
    """slots: a worker that was restarted is one"""
    lifetimes: int
    """of workers that overlap the window"""
    most_workers: int
    """at a time, as threads and memory limit"""
    threads: int
    memory_limit: int
    """bytes, summed over workers; those without a limit count as 0"""
    lane_seconds: float
    """seconds that threads existed in the window, summed; the rest after busy seconds is idle time"""
    worker_seconds: float
    """seconds that workers existed in the window, summed"""
    memory_seconds: float
    """bytes of the workers' memory limits times the seconds that they existed in the window"""
    peak_memory: float | None
    """maximum over time of the memory of the workers' processes, summed (bytes); None: no samples"""
    peak_limit: int | None
    """memory limits of the workers that there were at that time, summed (bytes)"""
    peak_spilled: float | None
    """maximum over time of what workers had on disk, summed (bytes); None: no samples"""
    other_tasks: int = 0
    """of others, counted as `tasks`"""
    other_seconds: float = 0.0
    """in which threads computed these"""


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
    memory = peak_memory(connection, cluster, start, stop)
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
        lifetimes=existence.lifetimes,
        most_workers=existence.most_workers,
        threads=existence.threads,
        memory_limit=existence.memory_limit,
        lane_seconds=existence.thread_seconds,
        worker_seconds=existence.worker_seconds,
        memory_seconds=existence.memory_seconds,
        peak_memory=memory.process,
        peak_limit=memory.limit,
        peak_spilled=memory.spilled,
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
                  WHERE {STARTS} AND {RECEIVED})
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
