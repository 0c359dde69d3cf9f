"""Reads the intervals in which a cluster was active, and their main prefixes and code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from observatory.store.queries.windows.other_work import NONE, OtherWork
from observatory.wire.records import TASK_STATES, Action

MAXIMUM_SPAN = timedelta(days=7)
"""maximum length of a span, so that partitions of older days aren't read"""
LOGGED = timedelta(milliseconds=100)
SUBMITTED_BEFORE = timedelta(minutes=5)
"""how long before its first task stopped a graph may have been submitted"""


@dataclass(frozen=True, slots=True, order=True)
class ActiveInterval:
    """An interval without a pause of a second or longer. `stop` is exclusive."""

    start: datetime
    stop: datetime


def active_intervals(
    connection: psycopg.Connection, cluster: int, after: datetime | None
) -> list[ActiveInterval]:
    """Return one interval for each second in which spans stopped after `after` (None: all), sorted by start.

    All spans of an interval stop within one second, so it has no pause of a second. The error of a task is
    activity, too: it is later than the task's span, and a task whose workers died has no span. So is the
    change of a computed task into memory: until then the scheduler takes it for processing.
    """
    rows = connection.execute(
        """SELECT min(start), max(stop) FROM (
               SELECT start, stop FROM span
               WHERE cluster_id = %(cluster)s
                 AND (%(after)s::timestamptz IS NULL OR (stop > %(after)s AND start > %(earliest)s))
               UNION ALL
               SELECT time, time + '1 microsecond' FROM error
               WHERE cluster_id = %(cluster)s AND outcome <> 'retried'
                 AND (%(after)s::timestamptz IS NULL OR time > %(after)s)
               UNION ALL
               SELECT time, time + '1 microsecond' FROM transition
               WHERE cluster_id = %(cluster)s AND start = %(processing)s AND finish = %(memory)s
                 AND (%(after)s::timestamptz IS NULL OR time > %(after)s)
               UNION ALL
               SELECT time, time + '1 microsecond' FROM event
               WHERE cluster_id = %(cluster)s AND kind = 'tasks-erred'
                 AND (%(after)s::timestamptz IS NULL OR time > %(after)s)
           ) AS active
           GROUP BY date_trunc('second', stop) ORDER BY 1""",
        {
            "cluster": cluster,
            "after": after,
            "earliest": after - MAXIMUM_SPAN if after else None,
            "processing": TASK_STATES.index("processing"),
            "memory": TASK_STATES.index("memory"),
        },
    )
    return [ActiveInterval(start, stop) for start, stop in rows]


def end_of_begun_tasks(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    limit: datetime,
    others: OtherWork = NONE,
) -> datetime | None:
    """Return when the last of the tasks that began in [start, stop) ended, erred or logged, up to `limit`.

    A line is a task's if its worker wrote it within LOGGED after one of the tasks ended there: the clocks of
    lines and spans differ by that. None if all was before `stop`. Exclusive, as the stop of a window is.
    """
    row = connection.execute(
        f"""SELECT max(stop) FROM (
               SELECT stop FROM span
               WHERE cluster_id = %(cluster)s AND start >= %(start)s AND start < %(stop)s
                 AND stop > %(stop)s AND stop <= %(limit)s AND NOT {others.includes("span")}
               UNION ALL
               SELECT time + '1 microsecond' FROM error
               WHERE cluster_id = %(cluster)s AND time >= %(stop)s AND time < %(limit)s
                 AND NOT {others.includes("error")}
                 AND EXISTS (
                     SELECT FROM span
                     WHERE span.cluster_id = error.cluster_id AND span.group_id = error.group_id
                       AND span.key_rest = error.key_rest
                       AND span.start >= %(start)s AND span.start < %(stop)s
                 )
               UNION ALL
               SELECT time + '1 microsecond' FROM log
               WHERE cluster_id = %(cluster)s AND time >= %(stop)s
                 AND time < least(%(limit)s::timestamptz, %(stop)s + %(logged)s::interval)
                 AND EXISTS (
                     SELECT FROM span JOIN lane ON lane.id = span.lane_id
                     WHERE span.cluster_id = log.cluster_id AND lane.worker_id = log.worker_id
                       AND span.start >= %(start)s AND span.start < %(stop)s
                       AND span.stop > log.time - %(logged)s::interval AND span.stop <= log.time
                       AND NOT {others.includes("span")}
                 )
           ) AS ended""",
        {**_window(cluster, start, stop), **others.parameters, "limit": limit, "logged": LOGGED},
    ).fetchone()
    return row[0] if row else None


def work_since(connection: psycopg.Connection, cluster: int, after: datetime) -> tuple[int, bool]:
    """Return how many tasks were computed after a time, and whether a graph was submitted after it."""
    row = connection.execute(
        """SELECT (SELECT count(*) FROM span
                   WHERE cluster_id = %(cluster)s AND stop > %(after)s AND action = %(compute)s),
                  EXISTS (SELECT FROM event
                   WHERE cluster_id = %(cluster)s AND kind = 'graph-updated' AND time > %(after)s)""",
        {"cluster": cluster, "after": after, "compute": int(Action.COMPUTE)},
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def last_client_left(connection: psycopg.Connection, cluster: int) -> datetime | None:
    """Return when a client disconnected last, as far as it was seen."""
    row = connection.execute(
        "SELECT max(time) FROM event WHERE cluster_id = %(cluster)s AND kind = 'client-removed'",
        {"cluster": cluster},
    ).fetchone()
    return row[0] if row else None


def main_prefixes(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, limit: int
) -> tuple[list[str], int]:
    """Return the prefixes computed longest in [start, stop), and the number of all prefixes."""
    rows = connection.execute(
        """SELECT name, count(*) OVER () FROM (
               SELECT prefix_id, sum(stop - start) AS total FROM span
               WHERE cluster_id = %(cluster)s AND start < %(stop)s AND stop > %(start)s
                 AND action = %(compute)s
               GROUP BY prefix_id
           ) AS computed JOIN prefix ON prefix.id = prefix_id ORDER BY total DESC, name LIMIT %(limit)s""",
        {**_window(cluster, start, stop), "compute": int(Action.COMPUTE), "limit": limit},
    ).fetchall()
    return [name for name, _ in rows], rows[0][1] if rows else 0


def submitted_code(connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime) -> str:
    """Return the code of the last computation submitted before `start`, else of the first in the window."""
    row = connection.execute(
        """SELECT code FROM computation
           WHERE cluster_id = %(cluster)s AND time >= %(earlier)s AND time < %(stop)s AND code <> ''
           ORDER BY time > %(start)s, abs(extract(epoch FROM time - %(start)s)) LIMIT 1""",
        {**_window(cluster, start, stop), "earlier": start - SUBMITTED_BEFORE},
    ).fetchone()
    return row[0] if row else ""


def _window(cluster: int, start: datetime, stop: datetime) -> dict[str, Any]:
    return {"cluster": cluster, "start": start, "stop": stop}
