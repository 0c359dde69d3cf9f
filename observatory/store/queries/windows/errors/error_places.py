"""Reads the errors of a window by exception and traceback."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from observatory.store.queries.windows.other_work import NONE, OtherWork

MOST_PLACES = 2_000
"""of a window: the most frequent combinations of exception, prefix and traceback"""
MOST_WORKERS = 50
"""whose deaths are read"""
REPORTED = "10 seconds"
"""after a worker's end, in which its nanny reports it"""


@dataclass(frozen=True, slots=True)
class TracedErrors:
    """The errors of one exception type, prefix and traceback."""

    exception_type: str
    prefix: str
    traceback: str
    count: int
    retried: int
    killed: int
    first: datetime
    last: datetime
    id: UUID
    """of the last one, as the message and workers"""
    message: str
    workers: list[str]


@dataclass(frozen=True, slots=True)
class WorkerDeath:
    """The end of a worker's lifetime."""

    name: str
    reason: str
    """end_reason"""
    by_memory: bool
    """its nanny killed it because of its memory"""
    share: float | None
    """of its memory limit that it used then; None: unknown"""


def traced_errors(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, others: OtherWork = NONE
) -> list[TracedErrors]:
    """Return the errors in [start, stop) by what they have in common, the most frequent first."""
    window: dict[str, Any] = {"cluster": cluster, "start": start, "stop": stop, "most": MOST_PLACES}
    window |= others.parameters
    with connection.cursor(row_factory=class_row(TracedErrors)) as cursor:
        return cursor.execute(
            f"""WITH counted AS (
                   SELECT exception_type, prefix_id, md5(traceback) AS digest, count(*) AS count,
                       count(*) FILTER (WHERE outcome = 'retried') AS retried,
                       count(*) FILTER (WHERE outcome = 'killed') AS killed,
                       min(time) AS first, max(time) AS last, (array_agg(id ORDER BY time DESC, id))[1] AS id
                   FROM error WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
                       AND NOT {others.includes("error")}
                   GROUP BY exception_type, prefix_id, digest ORDER BY count DESC LIMIT %(most)s
               )
               SELECT counted.exception_type, prefix.name AS prefix, traceback, counted.count, retried,
                   killed, first, last, counted.id, message, ARRAY(
                       SELECT DISTINCT listed.value FROM jsonb_array_elements_text(
                           CASE jsonb_typeof(workers) WHEN 'array' THEN workers ELSE '[]' END) AS listed
                       WHERE listed.value IS NOT NULL) AS workers
               FROM counted JOIN prefix ON prefix.id = prefix_id
               JOIN error ON error.cluster_id = %(cluster)s AND error.time = last AND error.id = counted.id
               ORDER BY counted.count DESC, counted.id""",
            window,
        ).fetchall()


def worker_deaths(
    connection: psycopg.Connection, cluster: int, addresses: list[str], start: datetime, stop: datetime
) -> list[WorkerDeath]:
    """Return the last lifetime at each address that ended in (start, stop], by name."""
    rows = connection.execute(
        f"""WITH ended AS (
                SELECT DISTINCT ON (address) id, coalesce(nullif(name, ''), address) AS name, end_reason,
                    ended, memory_limit
                FROM worker WHERE cluster_id = %(cluster)s AND address = ANY(%(addresses)s)
                  AND ended > %(start)s AND ended <= %(stop)s + interval '{REPORTED}'
                ORDER BY address, ended DESC
            )
            SELECT name, end_reason, coalesce(detail->>'reason' = 'memory', false),
                CASE WHEN memory_limit > 0 AND jsonb_typeof(detail->'memory') = 'number'
                    THEN least((detail->>'memory')::numeric / memory_limit, 1000)::float8 END
            FROM ended LEFT JOIN LATERAL (
                SELECT detail FROM event
                WHERE event.cluster_id = %(cluster)s AND event.worker_id = ended.id
                  AND kind = 'worker-restarted' AND time > ended - interval '{REPORTED}'
                  AND time <= ended + interval '{REPORTED}'
                ORDER BY time DESC LIMIT 1
            ) AS restarted ON true
            ORDER BY name""".encode(),
        {"cluster": cluster, "addresses": addresses[:MOST_WORKERS], "start": start, "stop": stop},
    )
    return [WorkerDeath(*row) for row in rows.fetchall()]
