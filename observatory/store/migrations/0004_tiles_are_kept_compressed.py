"""Deletes the cached tiles: from now on they are compressed. They are built again when they are requested."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("store", "0003_workers_have_positions")]
    operations = [migrations.RunSQL("DELETE FROM tile", migrations.RunSQL.noop)]
