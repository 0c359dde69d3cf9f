"""Adds the worker to the index of series by metric."""

from __future__ import annotations

from django.db import migrations

FORWARDS = (
    "CREATE INDEX ON series (cluster_id, metric, worker_id)",
    "DROP INDEX series_cluster_id_metric_idx",
)
BACKWARDS = (
    "CREATE INDEX ON series (cluster_id, metric)",
    "DROP INDEX series_cluster_id_metric_worker_id_idx",
)


class Migration(migrations.Migration):
    dependencies = [("store", "0005_holes_and_opened_runs")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
