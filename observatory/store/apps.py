from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate


class StoreConfig(AppConfig):
    name = "observatory.store"
    label = "store"

    def ready(self) -> None:
        from observatory.store import read_only_sessions

        connection_created.connect(read_only_sessions.watch, dispatch_uid="read-only sessions")
        post_migrate.connect(migrate_new_kinds, sender=self, dispatch_uid="tables of kinds of records")


def migrate_new_kinds(using: str, **_: Any) -> None:
    """After `migrate`: a kind of record that was declared since the last migration gets its table.

    When all migrations were reversed, its table goes as well.
    """
    from observatory.store.schema import new_kinds

    connections[using].ensure_connection()
    connection = connections[using].connection
    if new_kinds.has_tables(connection):
        new_kinds.create_missing(connection)
    else:
        new_kinds.drop_remaining(connection)
