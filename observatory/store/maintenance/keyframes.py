"""Keyframes: how much of each prefix had been computed at certain instants; any other needs few rows more."""

from __future__ import annotations

from datetime import datetime
from typing import LiteralString

import psycopg

from observatory.store.times import from_microseconds, to_microseconds
from observatory.wire.records import Action

INTERVAL = 1 << 25
"""microseconds between two: 34 s"""

PROGRESS_SINCE: LiteralString = """
    SELECT prefix_id AS prefix, count(*) AS tasks, sum(extract(epoch FROM stop - start))::float8 AS seconds
    FROM span
    WHERE cluster_id = %(cluster)s AND start <= %(at)s AND stop <= %(at)s AND stop > %(after)s
      AND action = %(compute)s
    GROUP BY prefix_id"""
PROGRESS: LiteralString = f"""
    SELECT prefix, sum(tasks)::bigint AS tasks, sum(seconds) AS seconds FROM (
        SELECT unnest(prefixes) AS prefix, unnest(tasks) AS tasks, unnest(seconds) AS seconds
        FROM keyframe WHERE cluster_id = %(cluster)s AND time = %(after)s
        UNION ALL ({PROGRESS_SINCE})
    ) AS parts GROUP BY prefix"""
"""what was computed by `at`: the keyframe of `after`, and what ended since; needs `parameters`"""


def progress_parameters(connection: psycopg.Connection, cluster: int, at: int) -> dict[str, object]:
    """Of SUMMED, for an instant in microseconds."""
    return {
        "cluster": cluster,
        "at": from_microseconds(at),
        "after": _newest(connection, cluster, at) or from_microseconds(0),
        "compute": int(Action.COMPUTE),
    }


def make_keyframes(connection: psycopg.Connection, cluster: int, first: int, until: int) -> int:
    """Makes those between the newest one, or `first`, and `until` (microseconds); how many."""
    newest = _newest(connection, cluster, until)
    at = (max(first, 0) if newest is None else to_microseconds(newest)) // INTERVAL * INTERVAL + INTERVAL
    made = 0
    while at < until:
        made += _make(connection, cluster, at)
        at += INTERVAL
    return made


def _make(connection: psycopg.Connection, cluster: int, at: int) -> int:
    with connection.transaction():
        # no writer can add a late record between what is read and what is written here
        connection.execute("SELECT FROM extent WHERE cluster_id = %s FOR SHARE", [cluster])
        return connection.execute(
            f"""INSERT INTO keyframe (cluster_id, time, prefixes, tasks, seconds)
                SELECT %(cluster)s, %(at)s, coalesce(array_agg(prefix), '{{}}'),
                    coalesce(array_agg(tasks), '{{}}'), coalesce(array_agg(seconds), '{{}}')
                FROM ({PROGRESS}) AS summed
                ON CONFLICT DO NOTHING""",
            progress_parameters(connection, cluster, at),
        ).rowcount


def drop_keyframes(connection: psycopg.Connection, cluster: int, since: float) -> None:
    """Drops those that a record which ended at `since` (seconds) makes wrong."""
    connection.execute(
        "DELETE FROM keyframe WHERE cluster_id = %s AND time >= to_timestamp(%s)", [cluster, since]
    )


def _newest(connection: psycopg.Connection, cluster: int, before: int) -> datetime | None:
    row = connection.execute(
        "SELECT max(time) FROM keyframe WHERE cluster_id = %s AND time <= %s",
        [cluster, from_microseconds(before)],
    ).fetchone()
    return row[0] if row else None
