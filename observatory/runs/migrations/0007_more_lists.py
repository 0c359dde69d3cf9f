"""Indexes for lists of very many runs in order of tasks and errors, and for words of their users' names."""

from __future__ import annotations

from django.db import migrations, models

# without the extension, which 0006 asks for, all runs are read
TRIGRAMS = """
    DO $$ BEGIN
        IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
            CREATE INDEX runs_run_user_words ON runs_run USING gin (upper("user") gin_trgm_ops);
        END IF;
    END $$"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0006_lists"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["tasks", "id"], include=("cluster",), name="runs_run_by_tasks"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["errors", "id"], include=("cluster",), name="runs_run_by_errors"),
        ),
        migrations.RunSQL(TRIGRAMS, "DROP INDEX IF EXISTS runs_run_user_words"),
    ]
