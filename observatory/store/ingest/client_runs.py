"""Runs that clients open: stored with a batch; runs/discovery/client_runs.py makes runs of them, once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import psycopg
from django.db import connection as django_connection

from observatory.store.texts import clean_json
from observatory.store.times import from_seconds
from observatory.wire.records import OpenedRun

COLUMNS = "run, time, start, outcome, name, tags, client_user, code, exception_type"


def note(connection: psycopg.Connection, cluster: int, runs: Sequence[OpenedRun]) -> None:
    """Part of the writer's transaction."""
    if runs:
        connection.cursor().executemany(
            f"INSERT INTO opened_run (cluster_id, {COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    cluster,
                    run.run,
                    from_seconds(run.time),
                    from_seconds(run.start),
                    run.outcome,
                    run.name,
                    clean_json(run.tags),
                    run.user,
                    run.code,
                    run.exception_type,
                )
                for run in runs
            ],
        )


def noted() -> list[int]:
    """The clusters of which something was told since it was last taken up."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT cluster_id FROM opened_run")
        return [cluster for (cluster,) in cursor.fetchall()]


def taken(cluster: int) -> list[OpenedRun]:
    """What was told of a cluster, in order; it is gone when Django's transaction at hand is committed."""
    with django_connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM opened_run WHERE cluster_id = %s RETURNING id, {COLUMNS}", [cluster])
        return [_opened(*row) for _, *row in sorted(cursor.fetchall(), key=lambda row: row[0])]


def _opened(
    run: UUID,
    time: datetime,
    start: datetime,
    outcome: str,
    name: str,
    tags: str | dict[str, str],
    user: str,
    code: str,
    exception_type: str,
) -> OpenedRun:
    # Django's connections leave JSON as it is written
    told = json.loads(tags) if isinstance(tags, str) else tags
    return OpenedRun(
        run, time.timestamp(), start.timestamp(), outcome, name, told, user, code, exception_type
    )
