"""Makes and drops the store's tables."""

from __future__ import annotations

import psycopg

from observatory.store.dimensions import DIMENSIONS
from observatory.store.engines import Engine
from observatory.store.tables import TIME_SERIES


def create(connection: psycopg.Connection, engine: Engine) -> None:
    """Makes every table of the store."""
    for statements in DIMENSIONS.values():
        for statement in statements:
            connection.execute(statement)
    for table in TIME_SERIES:
        engine.create(connection, table)


def drop(connection: psycopg.Connection) -> None:
    """Drops every table of the store and what is in it."""
    for name in (*DIMENSIONS, *(table.name for table in TIME_SERIES)):
        connection.execute(f"DROP TABLE IF EXISTS {name} CASCADE")
