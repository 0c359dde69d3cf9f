"""Replaces Django's connections whose sessions are read-only, so that writing goes on after an outage.

A session that began while the database was read-only stays so, and so does one to a former primary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from django.db.backends.postgresql.base import DatabaseWrapper

from observatory.store.connection import database_error


def watch(connection: DatabaseWrapper, **_: Any) -> None:
    """Receives Django's signal connection_created."""
    if replace_read_only not in connection.execute_wrappers:
        connection.execute_wrappers.append(replace_read_only)


def replace_read_only(execute: Callable[..., Any], *arguments: Any) -> Any:
    """A wrapper of Django's `execute`."""
    try:
        return execute(*arguments)
    except Exception as error:
        if isinstance(database_error(error), psycopg.errors.ReadOnlySqlTransaction):
            _replace(arguments[-1]["connection"])
        raise


def _replace(connection: DatabaseWrapper) -> None:
    """Closes the connection, which Django notices, and replaces the idle ones of its pool."""
    connection.connection.close()
    if connection.pool is not None:
        connection.pool.drain()
