"""Adds what an agent reports of itself, how far it reported, and how many records it dropped."""

from __future__ import annotations

from django.db import migrations

FORWARDS = (
    "ALTER TABLE agent ADD COLUMN committed timestamptz",
    "ALTER TABLE agent ADD COLUMN dropped bigint NOT NULL DEFAULT 0",
    "ALTER TABLE agent ADD COLUMN status jsonb NOT NULL DEFAULT '{}'",
)
BACKWARDS = (
    "ALTER TABLE agent DROP COLUMN status",
    "ALTER TABLE agent DROP COLUMN dropped",
    "ALTER TABLE agent DROP COLUMN committed",
)


class Migration(migrations.Migration):
    dependencies = [("store", "0007_late_records")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
