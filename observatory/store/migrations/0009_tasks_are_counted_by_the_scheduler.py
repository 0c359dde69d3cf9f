"""Adds the scheduler's own count of computed tasks, which includes those whose spans are missing."""

from __future__ import annotations

from django.db import migrations

FORWARDS = "ALTER TABLE extent ADD COLUMN counted bigint NOT NULL DEFAULT 0"
BACKWARDS = "ALTER TABLE extent DROP COLUMN counted"


class Migration(migrations.Migration):
    dependencies = [("store", "0008_agents_report_their_status")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
