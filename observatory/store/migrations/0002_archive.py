"""Makes the catalogue of the archive."""

from __future__ import annotations

from django.db import migrations

from observatory.store.migrations.history.tables_of_0002 import CATALOGUE


class Migration(migrations.Migration):
    dependencies = [("store", "0001_initial")]
    operations = [
        migrations.RunSQL(
            [statement for statements in CATALOGUE.values() for statement in statements],
            [f"DROP TABLE {name}" for name in CATALOGUE],
        ),
    ]
