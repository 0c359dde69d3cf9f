"""Drops the hashes of keys, which their groups stand in for, and makes the indexes of today."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.schema import create as schema


def look_up_by_group(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    schema.drop_key_hashes(schema_editor.connection.connection)


class Migration(migrations.Migration):
    dependencies = [("store", "0001_tables")]
    operations = [migrations.RunPython(look_up_by_group, migrations.RunPython.noop)]
