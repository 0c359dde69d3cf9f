"""Makes the store's tables."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.engines import choose
from observatory.store.engines.timescale import install
from observatory.store.schema import create as schema


def create(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    connection = schema_editor.connection.connection
    install(connection)
    schema.create(connection, choose(connection))


def drop(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    schema.drop(schema_editor.connection.connection)


class Migration(migrations.Migration):
    initial = True
    operations = [migrations.RunPython(create, drop)]
