"""Reading entries in the order of their numbers without missing one, and removing old ones."""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction

from observatory.store.audit.triggers import LOCK, TABLE, UPKEEP

CHUNK = 10_000
"""entries that one transaction removes"""


def newest_settled() -> int:
    """The number up to which no entry is to come: transactions that have a smaller one are over.

    Whoever reads up to it and goes on from there misses none, in whatever order transactions commit.
    """
    with connection.cursor() as cursor:
        # first the newest number: a transaction that takes a smaller one later does not exist
        cursor.execute(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {TABLE}_id_seq")
        [(newest,)] = cursor.fetchall()
        cursor.execute(
            """SELECT min((classid::bigint << 32 | objid::bigint) - %s) FROM pg_locks
               WHERE locktype = 'advisory' AND objsubid = 1 AND pid <> pg_backend_pid()
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                   AND classid::bigint >> 16 = %s""",
            [LOCK, LOCK >> 48],
        )
        [(oldest,)] = cursor.fetchall()
    return int(newest if oldest is None else min(newest, oldest))


def remove_older(than: datetime) -> int:
    """Removes the entries of before a time; returns how many there were."""
    removed = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT set_config('{UPKEEP}', 'on', true)")
            cursor.execute(
                f"DELETE FROM {TABLE} WHERE id IN (SELECT id FROM {TABLE} WHERE at < %s LIMIT {CHUNK})",
                [than],
            )
            count = int(cursor.rowcount)
        removed += count
        if count < CHUNK:
            return removed
