"""Where retention left holes, and the runs that clients tell of."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.schema import create as schema


def add(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    schema.add(schema_editor.connection.connection, "hole", "opened_run")


class Migration(migrations.Migration):
    dependencies = [("store", "0004_tiles_are_kept_compressed")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
