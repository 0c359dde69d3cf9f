"""Deletes the kept sums of transfers: they have a new column, of those whose size isn't known."""

from __future__ import annotations

from django.db import migrations

FORWARDS = "DELETE FROM tile WHERE layer = 'transfer-sums'"


class Migration(migrations.Migration):
    dependencies = [("store", "0009_tasks_are_counted_by_the_scheduler")]
    operations = [migrations.RunSQL(FORWARDS, migrations.RunSQL.noop)]
