"""Connections of the store's own, next to Django's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from psycopg_pool import ConnectionPool

CONNECT_TIMEOUT = 10
MAXIMUM_READERS = 8


def parameters() -> dict[str, Any]:
    """libpq's parameters for the database of settings.DATABASES."""
    database = settings.DATABASES["default"]
    options = {name: value for name, value in database.get("OPTIONS", {}).items() if name != "pool"}
    named = {
        "host": database.get("HOST"),
        "port": database.get("PORT"),
        "dbname": database.get("NAME"),
        "user": database.get("USER"),
        "password": database.get("PASSWORD"),
    }
    return {
        "connect_timeout": CONNECT_TIMEOUT,
        "application_name": "observatory",
        **{name: value for name, value in named.items() if value},
        **options,
    }


def connect() -> psycopg.Connection:
    """A new connection in autocommit mode, in UTC; raises psycopg.OperationalError without a database."""
    connection = psycopg.connect(**parameters(), autocommit=True)
    connection.execute("SET timezone = 'UTC'")
    return connection


@contextmanager
def read_connection() -> Iterator[psycopg.Connection]:
    """A connection as `connect` makes it, of those kept for reading; raises psycopg_pool.PoolTimeout."""
    with _readers().connection() as connection:
        yield connection


def close_readers() -> None:
    """Closes what `reading` keeps, so that the database can be dropped."""
    if _readers.cache_info().currsize:
        _readers().close()
        _readers.cache_clear()


@cache
def _readers() -> ConnectionPool[psycopg.Connection]:
    return ConnectionPool(
        kwargs={**parameters(), "autocommit": True},
        configure=_in_utc,
        check=_alive,
        min_size=1,
        max_size=MAXIMUM_READERS,
        timeout=CONNECT_TIMEOUT,
        open=True,
    )


def _in_utc(connection: psycopg.Connection) -> None:
    connection.execute("SET timezone = 'UTC'")


def _alive(connection: psycopg.Connection) -> None:
    """Raises psycopg.OperationalError for one that is broken; then all that wait in the pool are replaced.

    A database that was restarted broke all of them, and the pool, which looks at one at a time and waits
    longer after each, would not come to a whole one within its time.
    """
    try:
        ConnectionPool.check_connection(connection)
    except psycopg.OperationalError:
        _readers().drain()
        raise
