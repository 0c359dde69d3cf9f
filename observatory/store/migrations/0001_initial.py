"""Makes the store's tables."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from observatory.store.migrations.history.engines import (
    install_timescale,
    make_hypertable,
    make_partitioned,
)
from observatory.store.migrations.history.tables_of_0001 import DIMENSIONS, TIME_SERIES


def create(apps: Any, schema_editor: Any) -> None:
    schema_editor.connection.ensure_connection()
    connection = schema_editor.connection.connection
    make = make_hypertable if install_timescale(connection) else make_partitioned
    for statements in DIMENSIONS.values():
        for statement in statements:
            connection.execute(statement)
    for table in TIME_SERIES:
        make(connection, table)


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.RunPython(create, migrations.RunPython.noop),
        migrations.RunSQL(
            migrations.RunSQL.noop,
            [f"DROP TABLE {name} CASCADE" for name in (*DIMENSIONS, *(table.name for table in TIME_SERIES))],
        ),
    ]
