"""Which records came late, for the alerts."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.schema import create as schema


def add(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    schema.add(schema_editor.connection.connection, "late")


class Migration(migrations.Migration):
    dependencies = [("store", "0006_series_are_found_by_metric_and_worker")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
