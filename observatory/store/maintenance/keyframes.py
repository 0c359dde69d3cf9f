"""Keyframes: how much of each prefix had been computed at certain instants; any other needs few rows more."""

from __future__ import annotations

from datetime import datetime
from typing import LiteralString

import psycopg

from observatory.store.queries.timeline import instant, microseconds
from observatory.wire.records import Action

EVERY = 1 << 25
"""microseconds between two: 34 s"""

COUNTED: LiteralString = """
    SELECT prefix_id AS prefix, count(*) AS tasks, sum(extract(epoch FROM stop - start))::float8 AS seconds
    FROM span
    WHERE cluster_id = %(cluster)s AND start <= %(at)s AND stop <= %(at)s AND stop > %(after)s
      AND action = %(compute)s
    GROUP BY prefix_id"""
SUMMED: LiteralString = f"""
    SELECT prefix, sum(tasks)::bigint AS tasks, sum(seconds) AS seconds FROM (
        SELECT unnest(prefixes) AS prefix, unnest(tasks) AS tasks, unnest(seconds) AS seconds
        FROM keyframe WHERE cluster_id = %(cluster)s AND time = %(after)s
        UNION ALL ({COUNTED})
    ) AS parts GROUP BY prefix"""
"""what was computed by `at`: the keyframe of `after`, and what ended since; needs `parameters`"""


def parameters(connection: psycopg.Connection, cluster: int, at: int) -> dict[str, object]:
    """Of SUMMED, for an instant in microseconds."""
    return {
        "cluster": cluster,
        "at": instant(at),
        "after": _newest(connection, cluster, at) or instant(0),
        "compute": int(Action.COMPUTE),
    }


def make_keyframes(connection: psycopg.Connection, cluster: int, first: int, until: int) -> int:
    """Makes those between the newest one, or `first`, and `until` (microseconds); how many."""
    newest = _newest(connection, cluster, until)
    at = (max(first, 0) if newest is None else microseconds(newest)) // EVERY * EVERY + EVERY
    made = 0
    while at < until:
        made += _make(connection, cluster, at)
        at += EVERY
    return made


def _make(connection: psycopg.Connection, cluster: int, at: int) -> int:
    with connection.transaction():
        # no writer can add a late record between what is read and what is written here
        connection.execute("SELECT FROM extent WHERE cluster_id = %s FOR SHARE", [cluster])
        return connection.execute(
            f"""INSERT INTO keyframe (cluster_id, time, prefixes, tasks, seconds)
                SELECT %(cluster)s, %(at)s, coalesce(array_agg(prefix), '{{}}'),
                    coalesce(array_agg(tasks), '{{}}'), coalesce(array_agg(seconds), '{{}}')
                FROM ({SUMMED}) AS summed
                ON CONFLICT DO NOTHING""",
            parameters(connection, cluster, at),
        ).rowcount


def drop_keyframes(connection: psycopg.Connection, cluster: int, since: float) -> None:
    """Drops those that a record which ended at `since` (seconds) makes wrong."""
    connection.execute(
        "DELETE FROM keyframe WHERE cluster_id = %s AND time >= to_timestamp(%s)", [cluster, since]
    )


def _newest(connection: psycopg.Connection, cluster: int, before: int) -> datetime | None:
    row = connection.execute(
        "SELECT max(time) FROM keyframe WHERE cluster_id = %s AND time <= %s", [cluster, instant(before)]
    ).fetchone()
    return row[0] if row else None
