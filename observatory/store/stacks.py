"""The stacks of profiles: each is stored once per cluster and never changes."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence

import psycopg

from observatory.store.times import from_microseconds

STACK_SIZE = 250
"""bytes of memory of a stack's id and its hash"""


class Stacks:
    """The ids of a cluster's stacks, cached."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster
        self._ids: dict[uuid.UUID, int] = {}

    @property
    def size(self) -> int:
        """Bytes of memory, by estimate."""
        return STACK_SIZE * len(self._ids)

    def intern(self, connection: psycopg.Connection, stacks: Iterable[str]) -> None:
        """Makes the ids of the stacks known."""
        identities = {identity(stack): stack for stack in stacks}
        unknown = {found: stack for found, stack in identities.items() if found not in self._ids}
        if not unknown:
            return
        connection.execute(
            """INSERT INTO stack (cluster_id, identity, frames)
               SELECT %s, * FROM unnest(%s::uuid[], %s::text[])
               ON CONFLICT (cluster_id, identity) DO NOTHING""",
            [self.cluster, list(unknown), list(unknown.values())],
        )
        rows = connection.execute(
            "SELECT identity, id FROM stack WHERE cluster_id = %s AND identity = ANY(%s)",
            [self.cluster, list(unknown)],
        )
        self._ids.update(rows.fetchall())

    def id_of(self, stack: str) -> int:
        """Of a stack that was interned."""
        return self._ids[identity(stack)]


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
           WHERE profile.cluster_id = %s AND time >= %s AND time < %s
           GROUP BY source, worker_id IS NULL, prefix.name, stack_id
           ORDER BY sum(count) DESC, stack_id""",
        [cluster, from_microseconds(start), from_microseconds(stop)],
    ).fetchall()


def stacks_seen_between(
    connection: psycopg.Connection, cluster: int, stacks: Sequence[int], start: int, stop: int
) -> list[int]:
    """Return the given stacks that were sampled in [start, stop) (microseconds)."""
    rows = connection.execute(
        """SELECT DISTINCT stack_id FROM profile
           WHERE cluster_id = %s AND time >= %s AND time < %s AND stack_id = ANY(%s)""",
        [cluster, from_microseconds(start), from_microseconds(stop), list(stacks)],
    )
    return [stack for (stack,) in rows]


def identity(stack: str) -> uuid.UUID:
    """Return the hash by which a stack is found."""
    return uuid.UUID(bytes=hashlib.blake2b(stack.encode(), digest_size=16).digest())
