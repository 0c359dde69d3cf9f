"""Adds what was called to the errors: the name of the function and its arguments."""

from __future__ import annotations

from django.db import migrations

FORWARDS = (
    "ALTER TABLE error ADD COLUMN function text NOT NULL DEFAULT ''",
    "ALTER TABLE error ADD COLUMN arguments text NOT NULL DEFAULT ''",
)
BACKWARDS = (
    "ALTER TABLE error DROP COLUMN arguments",
    "ALTER TABLE error DROP COLUMN function",
)


class Migration(migrations.Migration):
    dependencies = [("store", "0013_sums_have_the_largest_transfer")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
