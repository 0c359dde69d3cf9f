"""Keyframes: computed tasks by prefix, kept after many tasks, so that progress at any time takes few rows.

Spans since a keyframe are found by their time, among those of all clusters. So one is also made some minutes
after a cluster's last task, and where it counts all of the cluster's tasks no spans are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, LiteralString

import psycopg

from observatory.store.queries.extents import Extent, read_extent
from observatory.store.times import from_microseconds, to_microseconds
from observatory.wire.records import Action

SHIFT = 23
INTERVAL = 1 << SHIFT
"""microseconds; keyframes are at multiples of it: 8.4 s"""
MANY_TASKS = 1_000
"""after which a keyframe is made, or twice as many as it has prefixes: it takes a small part of their room"""
AGE = 600_000_000
"""microseconds after a keyframe, from which on one is made after fewer tasks, too"""

_COMPUTED: LiteralString = """
    FROM span
    WHERE cluster_id = %(cluster)s AND start <= %(at)s AND stop <= %(at)s AND stop > %(after)s
      AND action = %(compute)s"""
PROGRESS_SINCE: LiteralString = f"""
    SELECT prefix_id AS prefix, count(*) AS tasks, sum(extract(epoch FROM stop - start))::float8 AS seconds
    {_COMPUTED} GROUP BY prefix_id"""
PROGRESS: LiteralString = f"""
    SELECT prefix, sum(tasks)::bigint AS tasks, sum(seconds) AS seconds FROM (
        SELECT unnest(prefixes) AS prefix, unnest(tasks) AS tasks, unnest(seconds) AS seconds
        FROM keyframe WHERE cluster_id = %(cluster)s AND time = %(after)s
        UNION ALL ({PROGRESS_SINCE})
    ) AS parts GROUP BY prefix"""
"""tasks and seconds computed until `at`: the keyframe at `after` plus the spans that stopped since"""


def progress_parameters(connection: psycopg.Connection, cluster: int, at: int) -> dict[str, Any]:
    """Return the parameters of PROGRESS for a time in microseconds."""
    after, is_complete = _last_keyframe(connection, cluster, at)
    return {
        "cluster": cluster,
        "at": after if is_complete else from_microseconds(at),
        "after": after,
        "compute": int(Action.COMPUTE),
    }


def make_keyframes(connection: psycopg.Connection, extent: Extent, until: int) -> int:
    """Make the keyframes that are missing until `until` (µs), which is settled; returns their number.

    None is made once a late record has changed the extent's version.
    """
    parameters = progress_parameters(connection, extent.cluster, until)
    prefixes = _prefixes(connection, parameters)
    made = tasks = at = 0
    intervals = _tasks_by_interval(connection, parameters)
    begun = intervals[0][0] * INTERVAL if intervals else 0
    newest = max(to_microseconds(parameters["after"]), begun)
    for interval, count in intervals:
        tasks += count
        at = (interval + 1) * INTERVAL
        if tasks >= max(MANY_TASKS, 2 * prefixes) and at < until:
            made += _make_keyframe(connection, extent, at)
            prefixes = _prefixes(connection, progress_parameters(connection, extent.cluster, at))
            newest, tasks = at, 0
    if tasks and at < until and until - newest >= AGE:
        made += _make_keyframe(connection, extent, at)
    return made


def keep_progress(connection: psycopg.Connection, cluster: int, instants: Iterable[datetime]) -> None:
    """Make keyframes at instants from which on records stay, before what is older is removed."""
    extent = read_extent(connection, cluster)
    if extent is None:
        return
    for instant in sorted(instants):
        at = (to_microseconds(instant) // INTERVAL + 1) * INTERVAL
        is_inside = extent.first * 1e6 < at < extent.last * 1e6
        if is_inside and _tasks_by_interval(connection, progress_parameters(connection, cluster, at)):
            _make_keyframe(connection, extent, at)


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


def _tasks_by_interval(
    connection: psycopg.Connection, parameters: Mapping[str, object]
) -> list[tuple[int, int]]:
    """The numbers of tasks computed since the keyframe at `after`, by the interval in which they stopped."""
    return connection.execute(
        f"""SELECT (extract(epoch FROM stop) * 1000000)::bigint >> {SHIFT} AS interval, count(*)
            {_COMPUTED} GROUP BY 1 ORDER BY 1""",
        parameters,
    ).fetchall()


def _prefixes(connection: psycopg.Connection, parameters: Mapping[str, object]) -> int:
    """The number of prefixes of the keyframe at `after`."""
    query = "SELECT cardinality(prefixes) FROM keyframe WHERE cluster_id = %(cluster)s AND time = %(after)s"
    row = connection.execute(query, parameters).fetchone()
    return int(row[0]) if row else 0


def _last_keyframe(connection: psycopg.Connection, cluster: int, until: int) -> tuple[datetime, bool]:
    """Return the time of the last keyframe, and whether it counts all tasks that there are.

    Without one it is a time before the cluster's first record.
    """
    row = connection.execute(
        """SELECT coalesce(newest.time, first - interval '1 s'), coalesce(newest.tasks, 0) = extent.tasks
           FROM extent LEFT JOIN (
               SELECT time, (SELECT sum(one) FROM unnest(tasks) AS one) AS tasks FROM keyframe
               WHERE cluster_id = %(cluster)s AND time <= %(until)s ORDER BY time DESC LIMIT 1
           ) AS newest ON true
           WHERE extent.cluster_id = %(cluster)s""",
        {"cluster": cluster, "until": from_microseconds(until)},
    ).fetchone()
    return (row[0], bool(row[1])) if row else (from_microseconds(0), False)
