"""Keyframes: computed tasks by prefix at fixed intervals, so that progress at any time takes few rows."""

from __future__ import annotations

from datetime import datetime
from typing import LiteralString

import psycopg

from observatory.store.times import from_microseconds, to_microseconds
from observatory.wire.records import Action

INTERVAL = 1 << 25
"""microseconds between two keyframes: 34 s"""

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
"""tasks and seconds computed until `at`: the keyframe at `after` plus the spans that stopped since"""


def progress_parameters(connection: psycopg.Connection, cluster: int, at: int) -> dict[str, object]:
    """Return the parameters of PROGRESS for a time in microseconds."""
    return {
        "cluster": cluster,
        "at": from_microseconds(at),
        "after": _last_keyframe(connection, cluster, at) or from_microseconds(0),
        "compute": int(Action.COMPUTE),
    }


def make_keyframes(connection: psycopg.Connection, cluster: int, first: int, until: int) -> int:
    """Make the keyframes since the last one, or `first`, until `until` (µs); returns their number."""
    last = _last_keyframe(connection, cluster, until)
    at = (max(first, 0) if last is None else to_microseconds(last)) // INTERVAL * INTERVAL + INTERVAL
    made = 0
    while at < until:
        made += _make_keyframe(connection, cluster, at)
        at += INTERVAL
    return made


def drop_keyframes(connection: psycopg.Connection, cluster: int, since: float) -> None:
    """Drop the keyframes that a late record which stopped at `since` (seconds) invalidates."""
    connection.execute(
        "DELETE FROM keyframe WHERE cluster_id = %s AND time >= to_timestamp(%s)", [cluster, since]
    )


def _make_keyframe(connection: psycopg.Connection, cluster: int, at: int) -> int:
    with connection.transaction():
        # locks out writers: a late record between the read and the insert would be missing
        connection.execute("SELECT FROM extent WHERE cluster_id = %s FOR SHARE", [cluster])
        return connection.execute(
            f"""INSERT INTO keyframe (cluster_id, time, prefixes, tasks, seconds)
                SELECT %(cluster)s, %(at)s, coalesce(array_agg(prefix), '{{}}'),
                    coalesce(array_agg(tasks), '{{}}'), coalesce(array_agg(seconds), '{{}}')
                FROM ({PROGRESS}) AS progress
                ON CONFLICT DO NOTHING""",
            progress_parameters(connection, cluster, at),
        ).rowcount


def _last_keyframe(connection: psycopg.Connection, cluster: int, until: int) -> datetime | None:
    row = connection.execute(
        "SELECT max(time) FROM keyframe WHERE cluster_id = %s AND time <= %s",
        [cluster, from_microseconds(until)],
    ).fetchone()
    return row[0] if row else None
