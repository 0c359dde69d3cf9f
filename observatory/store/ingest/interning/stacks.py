"""The stacks of profiles: each is stored once per cluster and never changes."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping

import psycopg

from observatory.store.dask_names import OTHER
from observatory.store.ingest.source_limits import SOURCE_LIMITS, Rows, SourceLimit

MOST_STACKS = 100_000
"""of a cluster; further ones are stored as OTHER_STACK"""
OTHER_STACK = f"{OTHER}\t\t0"
STACK_SIZE = 250
"""bytes of memory of a stack's id and its hash"""


class Stacks:
    """The ids of a cluster's stacks, cached."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster
        self._ids: dict[uuid.UUID, int] = {}
        self._count: int | None = None
        """how many the cluster has"""
        self.refused = 0
        """stacks of the last batch that were stored as OTHER_STACK"""

    @property
    def size(self) -> int:
        """Bytes of memory, by estimate."""
        return STACK_SIZE * len(self._ids)

    def intern(
        self, connection: psycopg.Connection, stacks: Iterable[str], limit: SourceLimit | None = None
    ) -> None:
        """Makes the ids of the stacks known. Raises TooManyNew and TooManyInBatch."""
        self.refused = 0
        unknown = {found: stack for stack in stacks if (found := identity(stack)) not in self._ids}
        if not unknown:
            return
        self._read(connection, unknown)
        missing = sorted(unknown.keys() - self._ids.keys())
        if not missing:
            return
        if self._count is None:
            query = "SELECT count(*) FROM stack WHERE cluster_id = %s"
            (self._count,) = connection.execute(query, [self.cluster]).fetchone() or (0,)
        permitted = missing[: max(0, MOST_STACKS - self._count)]
        SOURCE_LIMITS.require(limit, Rows.REFERRED, len(permitted))
        self._count += len(permitted)
        self._insert(connection, {found: unknown[found] for found in permitted})
        self._store_as_other(connection, missing[len(permitted) :])

    def _store_as_other(self, connection: psycopg.Connection, refused: list[uuid.UUID]) -> None:
        self.refused = len(refused)
        if refused:
            other = identity(OTHER_STACK)
            self._insert(connection, {other: OTHER_STACK})
            self._ids.update(dict.fromkeys(refused, self._ids[other]))

    def _insert(self, connection: psycopg.Connection, stacks: Mapping[uuid.UUID, str]) -> None:
        connection.execute(
            """INSERT INTO stack (cluster_id, identity, frames)
               SELECT %s, * FROM unnest(%s::uuid[], %s::text[])
               ON CONFLICT (cluster_id, identity) DO NOTHING""",
            [self.cluster, list(stacks), list(stacks.values())],
        )
        self._read(connection, stacks)

    def _read(self, connection: psycopg.Connection, stacks: Iterable[uuid.UUID]) -> None:
        rows = connection.execute(
            "SELECT identity, id FROM stack WHERE cluster_id = %s AND identity = ANY(%s)",
            [self.cluster, list(stacks)],
        )
        self._ids.update(rows.fetchall())

    def id_of(self, stack: str) -> int:
        """Of a stack that was interned."""
        return self._ids[identity(stack)]


def identity(stack: str) -> uuid.UUID:
    """Return the hash by which a stack is found."""
    return uuid.UUID(bytes=hashlib.blake2b(stack.encode(), digest_size=16).digest())
