"""psycopg connections of the store, separate from Django's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from psycopg_pool import ConnectionPool

CONNECT_TIMEOUT = 10
MAXIMUM_READERS = 8


def parameters() -> dict[str, Any]:
    """Return libpq's parameters for the database of settings.DATABASES."""
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
    """Open a connection in autocommit mode and UTC. Raises psycopg.OperationalError without a database."""
    connection = psycopg.connect(**parameters(), autocommit=True)
    connection.execute("SET timezone = 'UTC'")
    return connection


@contextmanager
def transaction_with(connection: psycopg.Connection, query: str, parameters: Any) -> Iterator[psycopg.Cursor]:
    """A transaction, and the cursor of its first statement, which is sent together with BEGIN."""
    try:
        with connection.pipeline():
            connection.execute("BEGIN")
            cursor = connection.execute(query, parameters)
        yield cursor
    except BaseException:
        with suppress(psycopg.Error):  # the connection may be what failed
            connection.rollback()
        raise
    connection.commit()


@contextmanager
def read_connection() -> Iterator[psycopg.Connection]:
    """Take a connection from the pool of readers (autocommit, UTC). Raises psycopg_pool.PoolTimeout."""
    with _readers().connection() as connection:
        yield connection


def close_readers() -> None:
    """Close the pool of readers, so that the database can be dropped."""
    if _readers.cache_info().currsize:
        _readers().close()
        _readers.cache_clear()


@cache
def _readers() -> ConnectionPool[psycopg.Connection]:
    return ConnectionPool(
        kwargs={**parameters(), "autocommit": True},
        configure=_set_utc,
        check=_check,
        min_size=1,
        max_size=MAXIMUM_READERS,
        timeout=CONNECT_TIMEOUT,
        open=True,
    )


def _set_utc(connection: psycopg.Connection) -> None:
    connection.execute("SET timezone = 'UTC'")


def _check(connection: psycopg.Connection) -> None:
    """Raise psycopg.OperationalError for a broken connection, and replace all idle ones of the pool.

    A database restart breaks all of them. The pool checks one at a time with growing delays, and would not
    reach a working one before its timeout.
    """
    try:
        ConnectionPool.check_connection(connection)
    except psycopg.OperationalError:
        _readers().drain()
        raise
