"""Makes and drops the tables of kinds of records that are newer than the store's migrations."""

from __future__ import annotations

import psycopg
from psycopg.sql import SQL, Identifier

from observatory.store.engines import choose
from observatory.store.schema.time_series import time_series


def create_missing(connection: psycopg.Connection) -> list[str]:
    """Makes the table of each declared kind that has none yet; returns their names.

    Before the store's first migration it makes none, and after its reversal it drops those that remained.
    """
    if not _exists(connection, "worker"):
        for table in time_series():
            connection.execute(SQL("DROP TABLE IF EXISTS {} CASCADE").format(Identifier(table.name)))
        return []
    engine = choose(connection)
    missing = [table for table in time_series() if not _exists(connection, table.name)]
    for table in missing:
        with connection.transaction():
            engine.create(connection, table)
    return [table.name for table in missing]


def _exists(connection: psycopg.Connection, table: str) -> bool:
    return connection.execute("SELECT to_regclass(%s) IS NOT NULL", [table]).fetchone() == (True,)
