"""Deletes the kept sums: they have durations as microseconds, and those by worker have fewer columns."""

from __future__ import annotations

from django.db import migrations

FORWARDS = "DELETE FROM tile WHERE split_part(layer, '.', 1) LIKE '%-sums'"


class Migration(migrations.Migration):
    dependencies = [("store", "0010_transfers_of_unknown_size")]
    operations = [migrations.RunSQL(FORWARDS, migrations.RunSQL.noop)]
