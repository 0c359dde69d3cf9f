"""Who does a piece of work: a lock that ends with the process that holds it, however that ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

JOBS = 0x6A6F
CHANNELS = 0x6368
RULES = 0x7275
"""classes of these advisory locks"""


@contextmanager
def try_lock(connection: psycopg.Connection, work: int, kind: int = JOBS) -> Iterator[bool]:
    """Whether nobody else does it just now; until the block ends nobody else does."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [kind, work]).fetchone()
    is_ours = bool(row and row[0])
    try:
        yield is_ours
    finally:
        if is_ours and not connection.broken:
            connection.execute("SELECT pg_advisory_unlock(%s, %s)", [kind, work])
