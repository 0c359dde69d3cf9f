"""Indexes with what the lists of very many runs need, and of the words of their names and tags."""

from __future__ import annotations

import logging
from typing import Any

from django.db import DatabaseError, migrations, models, transaction

log = logging.getLogger(__name__)

TRIGRAMS = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX runs_run_name_words ON runs_run USING gin (upper(name) gin_trgm_ops)",
    "CREATE INDEX runs_run_tag_words ON runs_run USING gin (upper(tags::text) gin_trgm_ops)",
)


def index_words(apps: Any, editor: Any) -> None:
    """A server without the extension, or one that only its administrator may install, searches all runs."""
    try:
        with transaction.atomic(editor.connection.alias):
            for statement in TRIGRAMS:
                editor.execute(statement)
    except DatabaseError as error:
        log.warning("names of runs are searched without an index: %s", error)


def forget_words(apps: Any, editor: Any) -> None:
    editor.execute("DROP INDEX IF EXISTS runs_run_name_words, runs_run_tag_words")


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0005_batch_jobs"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="run",
            name="runs_run_name_0cd4d1_idx",
        ),
        migrations.RemoveIndex(
            model_name="run",
            name="runs_run_start_cdb925_idx",
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["name", "start", "id"],
                include=("cluster", "outcome", "stop"),
                name="runs_run_of_name",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["start", "id"], include=("cluster",), name="runs_run_started"),
        ),
        migrations.RunPython(index_words, forget_words),
    ]
