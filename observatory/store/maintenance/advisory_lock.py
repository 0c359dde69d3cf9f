"""Session advisory locks: PostgreSQL releases them when the session ends, even if its process was killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from observatory.store.connection import session_of

JOBS = 0x6A6F
CHANNELS = 0x6368
RULES = 0x7275
TILES = 0x7469
OWN_ALERT = 0x6F77
FINDINGS = 0x6669
DELETIONS = 0x6465
ARCHIVE = 0x6172
ARCHIVED_ROWS = 0x6177
CONFIGURATION = 0x636F
RECEIVERS = 0x7265
"""classes of advisory locks; with a key each names one lock"""


@contextmanager
def try_lock(connection: psycopg.Connection, key: int, lock_class: int = JOBS) -> Iterator[bool]:
    """Take a lock without waiting, until the block ends; yields whether it was taken."""
    with session_of(connection) as session:
        is_taken = _take(session, lock_class, key)
        try:
            yield is_taken
        finally:
            if is_taken and not session.broken:
                session.execute("SELECT pg_advisory_unlock(%s, %s)", [lock_class, key])


def lock_session(connection: psycopg.Connection, lock_class: int, key: int = 0) -> psycopg.Connection | None:
    """Take a lock for as long as `connection` is open. None, and the connection is closed, if it is taken.

    `connection` is one of `connect_session`.
    """
    if _take(connection, lock_class, key):
        return connection
    connection.close()
    return None


def _take(session: psycopg.Connection, lock_class: int, key: int) -> bool:
    row = session.execute("SELECT pg_try_advisory_lock(%s, %s)", [lock_class, key]).fetchone()
    return bool(row and row[0])
