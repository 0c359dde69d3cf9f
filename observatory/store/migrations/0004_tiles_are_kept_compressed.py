"""Tiles are kept as they travel, compressed."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.schema import create as schema


def forget(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    schema.forget_tiles(schema_editor.connection.connection)


class Migration(migrations.Migration):
    dependencies = [("store", "0003_workers_have_positions")]
    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
