"""Deletes the kept sums of transfers: they have a new column, the bytes of the largest."""

from __future__ import annotations

from django.db import migrations

FORWARDS = "DELETE FROM tile WHERE layer = 'transfer-sums'"


class Migration(migrations.Migration):
    dependencies = [("store", "0012_events_are_found_by_kind")]
    operations = [migrations.RunSQL(FORWARDS, migrations.RunSQL.noop)]
