"""Reads the events of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row

from observatory.store.archive.scans.conditions import Condition, OneOf
from observatory.store.queries.timeline import WITHIN, window_parameters
from observatory.store.reading.scanning import scanned
from observatory.wire.event_kinds import GRAPH_UPDATED, ROUTINE

MOST_MESSAGES = 10
"""messages"""


def messages_of(connection: psycopg.Connection, cluster: int, kinds: Sequence[str]) -> list[str]:
    """Return what the last events of these kinds say, each message once, the newest first."""
    of_kinds = Condition((OneOf(("kind",), frozenset(kinds)),))
    with scanned(connection, cluster, {"event": of_kinds}):
        rows = connection.execute(
            """SELECT detail->>'message' AS message FROM event
               WHERE cluster_id = %(cluster)s AND kind = ANY(%(kinds)s) AND detail->>'message' <> ''
               GROUP BY message ORDER BY max(time) DESC LIMIT %(most)s""",
            {"cluster": cluster, "kinds": list(kinds), "most": MOST_MESSAGES},
        )
        return [message for (message,) in rows]


@dataclass(frozen=True, slots=True)
class RepeatedEvent:
    """An event, and those that repeat it. Times are seconds."""

    time: float
    until: float
    """time of the last one"""
    worker: int | None
    kind: str
    detail: dict[str, Any]
    """of the first one"""
    count: int
    tasks: int
    """that submissions have together, as far as they tell"""
    clients: int
    """that they name"""


def repeated_events(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, limit: int
) -> list[RepeatedEvent]:
    """Return the first `limit` events in [start, stop) (µs), of those that repeat one.

    One repeats another of its kind and worker that says the same; submissions do whatever they say. Of a kind
    that is of routine it may be any since the last event that isn't; of another kind the one right before.
    """
    with connection.cursor(row_factory=class_row(RepeatedEvent)) as cursor:
        return cursor.execute(
            f"""WITH found AS (
                    SELECT time, worker_id, kind, detail,
                        concat(kind, ' ', worker_id, ' ',
                            CASE WHEN kind <> %(submitted)s THEN detail->>'message' END) AS says
                    FROM event WHERE {WITHIN}),
                compared AS (
                    SELECT *, kind <> ALL(%(routine)s)
                        AND says IS DISTINCT FROM lag(says) OVER (ORDER BY time, kind) AS begins
                    FROM found),
                stretched AS (
                    SELECT *, count(*) FILTER (WHERE begins)
                        OVER (ORDER BY time, kind ROWS UNBOUNDED PRECEDING) AS stretch
                    FROM compared),
                placed AS (
                    SELECT *, row_number() OVER (PARTITION BY stretch, says ORDER BY time) AS place,
                        CASE WHEN kind = %(submitted)s AND jsonb_typeof(detail->'tasks') = 'number'
                            THEN greatest(0, least((detail->>'tasks')::numeric, 1000000000)) END AS tasks
                    FROM stretched)
                SELECT extract(epoch FROM min(time))::float8 AS time,
                    extract(epoch FROM max(time))::float8 AS until, worker_id AS worker, kind,
                    (max(detail::text) FILTER (WHERE place = 1))::jsonb AS detail,
                    count(*) AS count, coalesce(sum(tasks), 0)::bigint AS tasks,
                    count(DISTINCT nullif(detail->>'client', '')) AS clients
                FROM placed GROUP BY stretch, worker_id, kind, says ORDER BY 1, kind LIMIT %(limit)s""",
            {
                **window_parameters(cluster, start, stop),
                "submitted": GRAPH_UPDATED,
                "routine": list(ROUTINE),
                "limit": limit,
            },
        ).fetchall()
