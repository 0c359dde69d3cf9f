"""How the migrations make time-series tables. This is history: it never changes."""

from __future__ import annotations

import logging

import psycopg
from psycopg import sql

from observatory.store.migrations.history.tables_of_0001 import TimeSeries

log = logging.getLogger(__name__)


def install_timescale(connection: psycopg.Connection) -> bool:
    """Adds TimescaleDB to the database if the server has it; returns whether the database has it."""
    row = connection.execute(
        """SELECT current_setting('timescaledb.disable_load', true) IS NOT NULL
                  AND EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'timescaledb')"""
    ).fetchone()
    if row and row[0]:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS timescaledb")
        except psycopg.errors.DatabaseError as error:
            log.warning("TimescaleDB can't be used, PostgreSQL is used without it: %s", error)
    found = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'timescaledb'").fetchone()
    return found is not None


def make_hypertable(connection: psycopg.Connection, table: TimeSeries) -> None:
    connection.execute(f"CREATE TABLE {table.name} ({table.columns})")
    connection.execute(
        """SELECT create_hypertable(%s::regclass, by_range(%s, interval '1 day'),
                                    create_default_indexes => false)""",
        [table.name, table.time],
    )
    _index(connection, table)
    settings = sql.SQL(
        """ALTER TABLE {} SET (timescaledb.compress,
               timescaledb.compress_segmentby = {}, timescaledb.compress_orderby = {})"""
    ).format(sql.Identifier(table.name), sql.Literal(table.segment_by), sql.Literal(table.order_by))
    try:
        with connection.transaction():
            connection.execute(settings)
            connection.execute("SELECT add_compression_policy(%s::regclass, interval '2 days')", [table.name])
    except psycopg.errors.DatabaseError as error:
        # the Apache build has hypertables only
        log.warning("no compression of %s: %s", table.name, error)


def make_partitioned(connection: psycopg.Connection, table: TimeSeries) -> None:
    connection.execute(f"CREATE TABLE {table.name} ({table.columns}) PARTITION BY RANGE ({table.time})")
    _index(connection, table)


def _index(connection: psycopg.Connection, table: TimeSeries) -> None:
    for index in table.indexes:
        connection.execute(f"CREATE INDEX ON {table.name} {index}")
