"""Tables of kinds of records that are newer than the store's migrations, which neither make nor drop them."""

from __future__ import annotations

import psycopg
from psycopg.sql import SQL, Identifier

from observatory.store.engines import choose
from observatory.store.schema.time_series import time_series


def has_tables(connection: psycopg.Connection) -> bool:
    """Return whether the store's first migration is applied."""
    return _exists(connection, "worker")


def create_missing(connection: psycopg.Connection) -> None:
    """Create the table of each declared kind that has none yet."""
    engine = choose(connection)
    for table in time_series():
        if not _exists(connection, table.name):
            with connection.transaction():
                engine.create(connection, table)


def drop_remaining(connection: psycopg.Connection) -> None:
    """Drop the tables of all declared kinds that are still there."""
    for table in time_series():
        connection.execute(SQL("DROP TABLE IF EXISTS {} CASCADE").format(Identifier(table.name)))


def _exists(connection: psycopg.Connection, table: str) -> bool:
    return connection.execute("SELECT to_regclass(%s) IS NOT NULL", [table]).fetchone() == (True,)
