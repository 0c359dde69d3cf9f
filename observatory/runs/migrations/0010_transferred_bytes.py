"""Removes the transferred bytes of counted runs, which were sums of the waiting tasks' results."""

from __future__ import annotations

from django.db import migrations

FORWARDS = "UPDATE runs_run SET figures = figures - 'transferred'"


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_run_contents")]
    operations = [migrations.RunSQL(FORWARDS, migrations.RunSQL.noop)]
