"""Finds the events of a kind without reading those of all kinds: workers' statuses, agents that started."""

from __future__ import annotations

from django.db import migrations

FORWARDS = "CREATE INDEX ON event USING btree (cluster_id, kind, time)"


class Migration(migrations.Migration):
    dependencies = [("store", "0011_sums_have_microseconds")]
    operations = [migrations.RunSQL(FORWARDS, migrations.RunSQL.noop)]
