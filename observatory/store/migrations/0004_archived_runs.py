"""Adds a digest of what is archived about the runs of a cluster, which tells when that changes."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("store", "0003_archived_rows")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE archived_cluster ADD COLUMN runs text NOT NULL DEFAULT ''",
            "ALTER TABLE archived_cluster DROP COLUMN runs",
        ),
    ]
