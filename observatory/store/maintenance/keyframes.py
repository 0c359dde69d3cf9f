"""Keyframes: computed tasks by prefix at fixed intervals, so that progress at any time takes few rows."""

from __future__ import annotations

from datetime import datetime
from typing import LiteralString

import psycopg

from observatory.store.queries.extents import Extent
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


def make_keyframes(connection: psycopg.Connection, extent: Extent, until: int) -> int:
    """Make the keyframes since the last one until `until` (µs), which is settled; returns their number.

    None is made once a late record has changed the extent's version.
    """
    last = _last_keyframe(connection, extent.cluster, until)
    first = max(round(extent.first * 1e6), 0) if last is None else to_microseconds(last)
    at = first // INTERVAL * INTERVAL + INTERVAL
    made = 0
    while at < until:
        made += _make_keyframe(connection, extent, at)
        at += INTERVAL
    return made


def drop_keyframes(connection: psycopg.Connection, cluster: int, since: float) -> None:
    """Drop the keyframes that a late record which stopped at `since` (seconds) invalidates."""
    connection.execute(
        "DELETE FROM keyframe WHERE cluster_id = %s AND time >= to_timestamp(%s)", [cluster, since]
    )


def _make_keyframe(connection: psycopg.Connection, extent: Extent, at: int) -> int:
    rows = connection.execute(PROGRESS, progress_parameters(connection, extent.cluster, at)).fetchall()
    prefixes, tasks, seconds = ([row[column] for row in rows] for column in range(3))
    # the extent is locked for the insert alone: writers of the cluster don't wait for the count
    return connection.execute(
        """INSERT INTO keyframe (cluster_id, time, prefixes, tasks, seconds)
           SELECT cluster_id, %s, %s::int[], %s::bigint[], %s::float8[] FROM extent
           WHERE cluster_id = %s AND version = %s FOR SHARE
           ON CONFLICT DO NOTHING""",
        [from_microseconds(at), prefixes, tasks, seconds, extent.cluster, extent.version],
    ).rowcount


def _last_keyframe(connection: psycopg.Connection, cluster: int, until: int) -> datetime | None:
    row = connection.execute(
        "SELECT max(time) FROM keyframe WHERE cluster_id = %s AND time <= %s",
        [cluster, from_microseconds(until)],
    ).fetchone()
    return row[0] if row else None
