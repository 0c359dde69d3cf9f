"""Makes a table for the times of late records, which alerts evaluate again."""

from __future__ import annotations

from django.db import migrations

FORWARDS = (
    "CREATE TABLE late (cluster_id integer NOT NULL, since timestamptz NOT NULL)",
    "CREATE INDEX ON late (cluster_id)",
)


class Migration(migrations.Migration):
    dependencies = [("store", "0006_series_are_found_by_metric_and_worker")]
    operations = [migrations.RunSQL(FORWARDS, "DROP TABLE late")]
