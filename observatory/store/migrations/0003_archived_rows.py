"""Makes the table of which archived rows are in their tables."""

from __future__ import annotations

from django.db import migrations

from observatory.store.migrations.history.tables_of_0003 import ARCHIVED_ROWS


class Migration(migrations.Migration):
    dependencies = [("store", "0002_archive")]
    operations = [
        migrations.RunSQL(
            [statement for statements in ARCHIVED_ROWS.values() for statement in statements],
            [f"DROP TABLE {name}" for name in ARCHIVED_ROWS],
        ),
    ]
