"""Who changes which rows of a cluster are in their tables, and which files are theirs, does it alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

import psycopg

from observatory.store.maintenance.advisory_lock import ARCHIVED_ROWS


def lock_rows(connection: psycopg.Connection, cluster: int) -> None:
    """Until the transaction ends, nobody else removes rows of a cluster or brings them back."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", [ARCHIVED_ROWS, cluster])


@contextmanager
def changing_rows(
    connection: psycopg.Connection, cluster: int, keeps_writers_out: bool = False
) -> Iterator[bool]:
    """A transaction with `lock_rows`. The extent is locked before, as writers do.

    Yields whether the cluster is there; it is not deleted meanwhile.
    """
    lock: LiteralString = "FOR UPDATE" if keeps_writers_out else "FOR KEY SHARE"
    with connection.transaction():
        known = connection.execute(f"SELECT FROM extent WHERE cluster_id = %s {lock}", [cluster])
        lock_rows(connection, cluster)
        yield known.fetchone() is not None
