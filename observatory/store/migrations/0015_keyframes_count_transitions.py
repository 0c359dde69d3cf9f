"""Keyframes count tasks by their transitions, and say until when they hold; those that counted attempts are
deleted, and made anew."""

from __future__ import annotations

from django.db import migrations

FORWARDS = """
DELETE FROM keyframe;
ALTER TABLE keyframe DROP COLUMN tasks;
ALTER TABLE keyframe ADD COLUMN until timestamptz NOT NULL;
ALTER TABLE keyframe ADD COLUMN counts bigint[] NOT NULL;
"""
BACKWARDS = """
DELETE FROM keyframe;
ALTER TABLE keyframe DROP COLUMN until, DROP COLUMN counts;
ALTER TABLE keyframe ADD COLUMN tasks bigint[] NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("store", "0014_errors_have_the_call")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
