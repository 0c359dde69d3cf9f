"""A database of a benchmark's own, with Observatory's tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections


@contextmanager
def own_database(name: str) -> Iterator[None]:
    """Make the database `name` anew and let Django use it; at the end close all connections and remove it."""
    from observatory.store.connection import close_pools  # Django has been set up by now

    connection.settings_dict["TEST"]["NAME"] = name
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        close_pools()
        connections.close_all()
        connection.creation.destroy_test_db(name, verbosity=0)
