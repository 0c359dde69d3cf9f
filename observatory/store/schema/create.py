"""Makes and drops the store's tables."""

from __future__ import annotations

import psycopg

from observatory.store.engines import Engine
from observatory.store.schema.dimensions import DIMENSIONS
from observatory.store.schema.time_series import TIME_SERIES


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


def drop_key_hashes(connection: psycopg.Connection) -> None:
    """Brings tables that hold hashes of keys into today's form; leaves others as they are."""
    for table in TIME_SERIES:
        hashes = connection.execute(
            """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass
                 AND attname IN ('key_hash', 'depends_on_hash') AND NOT attisdropped""",
            [table.name],
        ).fetchall()
        if not hashes:
            continue
        for (index,) in connection.execute(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass", [table.name]
        ).fetchall():
            connection.execute(f"DROP INDEX {index}".encode())
        for (name,) in hashes:
            connection.execute(f"ALTER TABLE {table.name} DROP COLUMN {name}".encode())
        for index in table.indexes:
            connection.execute(f"CREATE INDEX ON {table.name} {index}")


def number_workers(connection: psycopg.Connection) -> None:
    """Gives workers their positions where they have none yet."""
    column = "SELECT FROM pg_attribute WHERE attrelid = 'worker'::regclass AND attname = 'position'"
    if connection.execute(column).fetchone() is not None:
        return
    connection.execute("ALTER TABLE worker ADD COLUMN position integer")
    connection.execute(
        """UPDATE worker SET position = numbered.position FROM (
               SELECT id, row_number() OVER (PARTITION BY cluster_id ORDER BY id) - 1 AS position FROM worker
           ) numbered WHERE numbered.id = worker.id"""
    )
    connection.execute("ALTER TABLE worker ALTER COLUMN position SET NOT NULL")
    connection.execute("CREATE UNIQUE INDEX ON worker (cluster_id, position)")
    # they were made without bands; what is asked for is built again
    connection.execute("DELETE FROM tile")


def forget_tiles(connection: psycopg.Connection) -> None:
    """Drops the tiles that are kept: they were kept in another form, and what is asked for is built again."""
    connection.execute("DELETE FROM tile")


def add(connection: psycopg.Connection, *names: str) -> None:
    """Makes the tables of these names that aren't there; they aren't of records in time."""
    for name in names:
        if connection.execute("SELECT to_regclass(%s)", [name]).fetchone() == (None,):
            for statement in DIMENSIONS[name]:
                connection.execute(statement)


def index_series_by_worker(connection: psycopg.Connection) -> None:
    """Puts the worker into the index of series by metric, where it isn't yet."""
    index = """SELECT indexrelid::regclass::text, indnatts FROM pg_index
               WHERE indrelid = 'series'::regclass AND pg_get_indexdef(indexrelid) LIKE %s"""
    for name, columns in connection.execute(index, ["%(cluster_id, metric%"]).fetchall():
        if columns == 2:
            connection.execute("CREATE INDEX ON series (cluster_id, metric, worker_id)")
            connection.execute(f"DROP INDEX {name}".encode())
