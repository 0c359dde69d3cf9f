"""Reads the stacks of profiles."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from observatory.store.times import from_microseconds


def stack_frames(
    connection: psycopg.Connection, cluster: int, stacks: Sequence[int]
) -> list[tuple[int, str]]:
    """Return (id, frames) of the given stacks that exist, sorted by id; frames are one per line."""
    return connection.execute(
        "SELECT id, frames FROM stack WHERE cluster_id = %s AND id = ANY(%s) ORDER BY id",
        [cluster, list(stacks)],
    ).fetchall()


def stack_counts(
    connection: psycopg.Connection, cluster: int, start: int, stop: int
) -> list[tuple[int, bool, str, int, int]]:
    """Count the samples of each stack in [start, stop) (microseconds), most frequent first.

    Rows: source, whether it is the scheduler's, prefix (or empty), stack, count.
    """
    return connection.execute(
        """SELECT source, worker_id IS NULL, coalesce(prefix.name, ''), stack_id, sum(count)::bigint
           FROM profile LEFT JOIN prefix ON prefix.id = prefix_id
           WHERE profile.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
           GROUP BY source, worker_id IS NULL, prefix.name, stack_id
           ORDER BY sum(count) DESC, stack_id""",
        {"cluster": cluster, "start": from_microseconds(start), "stop": from_microseconds(stop)},
    ).fetchall()


def stacks_seen_between(
    connection: psycopg.Connection, cluster: int, stacks: Sequence[int], start: int, stop: int
) -> list[int]:
    """Return the given stacks that were sampled in [start, stop) (microseconds)."""
    rows = connection.execute(
        """SELECT DISTINCT stack_id FROM profile
           WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
             AND stack_id = ANY(%(stacks)s)""",
        {
            "cluster": cluster,
            "start": from_microseconds(start),
            "stop": from_microseconds(stop),
            "stacks": list(stacks),
        },
    )
    return [stack for (stack,) in rows]
