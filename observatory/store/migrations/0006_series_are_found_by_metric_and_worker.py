"""Whether a metric is told of workers is read from the index."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.schema import create as schema


def index(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    schema.index_series_by_worker(schema_editor.connection.connection)


class Migration(migrations.Migration):
    dependencies = [("store", "0005_holes_and_opened_runs")]
    operations = [migrations.RunPython(index, migrations.RunPython.noop)]
