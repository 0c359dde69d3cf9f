from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.backends.signals import connection_created
from django.db.migrations.executor import MigrationExecutor
from django.db.models.signals import post_migrate, pre_migrate


class StoreConfig(AppConfig):
    name = "observatory.store"
    label = "store"

    def ready(self) -> None:
        from observatory.store import session_priority
        from observatory.store.audit import actor
        from observatory.store.outages import read_only_sessions

        connection_created.connect(read_only_sessions.watch, dispatch_uid="read-only sessions")
        connection_created.connect(session_priority.watch, dispatch_uid="priority of sessions")
        connection_created.connect(actor.watch, dispatch_uid="actor of the audit log")
        pre_migrate.connect(remove_definitions, sender=self, dispatch_uid="views and triggers")
        post_migrate.connect(migrate_new_kinds, sender=self, dispatch_uid="tables of kinds of records")


def remove_definitions(using: str, plan: Sequence[Any], **_: Any) -> None:
    """Before `migrate`, where there is something to migrate: views and triggers name columns."""
    if plan:
        from observatory.store.audit import triggers
        from observatory.store.sql import views

        connections[using].ensure_connection()
        views.drop_views(connections[using].connection)
        triggers.drop_triggers(connections[using].connection)


def migrate_new_kinds(using: str, **_: Any) -> None:
    """After `migrate`: a kind of record that was declared since the last migration gets its table.

    When all migrations were reversed, its table goes as well.
    """
    from observatory.store.schema import new_kinds

    connections[using].ensure_connection()
    connection = connections[using].connection
    if new_kinds.has_tables(connection):
        new_kinds.create_missing(connection)
        create_definitions(using)
    else:
        new_kinds.drop_remaining(connection)


def create_definitions(using: str) -> None:
    """Where all migrations are applied: before that, tables may lack what a view or trigger names."""
    from observatory.store.audit import triggers
    from observatory.store.sql import views

    connection = connections[using].connection
    if views.are_current(connection) and triggers.are_current(connection):
        return
    executor = MigrationExecutor(connections[using])
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        views.create_views(connection)
        triggers.create_triggers(connection)
