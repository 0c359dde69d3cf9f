"""Connections of the store's own, next to Django's."""

from __future__ import annotations

from typing import Any

import psycopg
from django.conf import settings

CONNECT_TIMEOUT = 10


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
