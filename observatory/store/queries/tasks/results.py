"""Reads the names of results in memory, and where they are."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import psycopg

from observatory.store.times import from_microseconds
from observatory.wire.kinds.spill import REPORTS_SPILLED


class Group(NamedTuple):
    name: str
    prefix: int
    """id"""


def groups(connection: psycopg.Connection, ids: Collection[int]) -> dict[int, Group]:
    """Return groups by id."""
    rows = connection.execute(
        "SELECT id, name, prefix_id FROM task_group WHERE id = ANY(%s)", [list(ids)]
    ).fetchall()
    return {id: Group(*group) for id, *group in rows}


def workers_alive(connection: psycopg.Connection, cluster: int, at: int) -> dict[int, bool]:
    """Return the ids of the workers that were there at `at` (microseconds).

    The value is whether their agent reports which results are on disk.
    """
    rows = connection.execute(
        """SELECT id, detail->%s IS NOT DISTINCT FROM 'true'::jsonb FROM worker
           WHERE cluster_id = %s AND started <= %s AND (ended IS NULL OR ended > %s)""",
        [REPORTS_SPILLED, cluster, from_microseconds(at), from_microseconds(at)],
    )
    return dict(rows.fetchall())


def on_disk(
    connection: psycopg.Connection, cluster: int, tasks: Collection[tuple[int, str]], since: int, at: int
) -> dict[tuple[int, str], dict[int, int]]:
    """Return bytes on disk by worker, of those of the tasks (group, rest) that were on one at `at`.

    `since`: of the reports that are read; both in microseconds.
    """
    rows = connection.execute(
        """SELECT DISTINCT ON (spill.group_id, spill.key_rest, worker_id)
               spill.group_id, spill.key_rest, worker_id, nbytes
           FROM spill JOIN unnest(%(groups)s::int[], %(rests)s::text[]) AS task (group_id, key_rest)
               ON spill.group_id = task.group_id AND spill.key_rest = task.key_rest
           WHERE cluster_id = %(cluster)s AND time >= %(since)s AND time <= %(at)s AND worker_id IS NOT NULL
           ORDER BY spill.group_id, spill.key_rest, worker_id, time DESC""",
        {
            "cluster": cluster,
            "groups": [group for group, _ in tasks],
            "rests": [rest for _, rest in tasks],
            "since": from_microseconds(since),
            "at": from_microseconds(at),
        },
    )
    found: dict[tuple[int, str], dict[int, int]] = {}
    for group, rest, worker, nbytes in rows:
        if nbytes:
            found.setdefault((group, rest), {})[worker] = nbytes
    return found
