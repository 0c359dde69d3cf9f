from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate


class StoreConfig(AppConfig):
    name = "observatory.store"
    label = "store"

    def ready(self) -> None:
        post_migrate.connect(create_missing_tables, sender=self, dispatch_uid="tables of kinds of records")


def create_missing_tables(using: str, **_: Any) -> None:
    """After `migrate`: a kind of record that was declared since the last migration gets its table."""
    from observatory.store.schema.create import create_missing

    connection = connections[using]
    connection.ensure_connection()
    create_missing(connection.connection)
