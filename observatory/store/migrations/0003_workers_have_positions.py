"""Numbers the workers of each cluster: their position says which band of a layer tells of them."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.schema import create as schema


def number(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    schema.number_workers(schema_editor.connection.connection)


class Migration(migrations.Migration):
    dependencies = [("store", "0002_keys_are_looked_up_by_group")]
    operations = [migrations.RunPython(number, migrations.RunPython.noop)]
