"""The database as a whole, for backups: what is in it, who uses it, and one that takes another's place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from observatory.store.connection import session_parameters

MAJOR = 10_000
"""server_version_num is the major version times this, and the minor"""
TABLES = """
    SELECT count(*) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT EXISTS (
        SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')"""
SESSIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""
TIMESCALE = "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a database has at one instant. `name` is PostgreSQL's, for pg_dump."""

    name: str
    server: int
    timescale: str | None
    bytes: int
    migrations: dict[str, list[str]]


@contextmanager
def snapshot() -> Iterator[Snapshot]:
    """One instant of the database, which stays readable inside the `with` block."""
    with psycopg.connect(**session_parameters()) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        applied: dict[str, list[str]] = {}
        for app, name in connection.execute("SELECT app, name FROM django_migrations ORDER BY id"):
            applied.setdefault(app, []).append(name)
        yield Snapshot(
            name=str(_value(connection, "SELECT pg_export_snapshot()")),
            server=server_major(connection),
            timescale=_value(connection, TIMESCALE),
            bytes=_value(connection, "SELECT pg_database_size(current_database())"),
            migrations=applied,
        )


def server_major(connection: psycopg.Connection) -> int:
    return connection.info.server_version // MAJOR


def has_tables(connection: psycopg.Connection) -> bool:
    """Whether anything but extensions is in the database."""
    return bool(_value(connection, TABLES))


def other_sessions(connection: psycopg.Connection) -> int:
    """The number of other connections to the database."""
    return int(_value(connection, SESSIONS))


def offers_timescale(connection: psycopg.Connection, version: str) -> bool:
    """Whether the server can install this version of TimescaleDB."""
    offered = "SELECT 1 FROM pg_available_extension_versions WHERE name = 'timescaledb' AND version = %s"
    return connection.execute(offered, [version]).fetchone() is not None


def prepare_for_restore(connection: psycopg.Connection, timescale: str | None) -> None:
    """Make an empty database have TimescaleDB in this version, or not have it."""
    connection.execute("DROP EXTENSION IF EXISTS timescaledb CASCADE")
    if timescale:
        connection.execute(SQL("CREATE EXTENSION timescaledb VERSION {}").format(Literal(timescale)))
        connection.execute("SELECT timescaledb_pre_restore()")


def finish_restore(connection: psycopg.Connection, timescale: str | None) -> None:
    """Let TimescaleDB work again, and count rows for the planner."""
    if timescale:
        connection.execute("SELECT timescaledb_post_restore()")
    connection.execute("ANALYZE")


def may_create_databases(connection: psycopg.Connection) -> bool:
    return bool(
        _value(connection, "SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = current_user")
    )


def create_empty(connection: psycopg.Connection, name: str) -> None:
    """Create the database `name` in place of one that an interrupted restore left."""
    connection.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
    connection.execute(SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(Identifier(name)))


def rename(connection: psycopg.Connection, old: str, new: str) -> None:
    """Rename a database, to which this connection is not. Ends its other connections."""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = %s AND pid <> pg_backend_pid()",
        [old],
    )
    connection.execute(SQL("ALTER DATABASE {} RENAME TO {}").format(Identifier(old), Identifier(new)))


def drop(connection: psycopg.Connection, name: str) -> None:
    connection.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


def _value(connection: psycopg.Connection, query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None
