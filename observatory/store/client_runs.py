"""Runs in client code: stored with a batch until runs/discovery/client_runs.py makes runs of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import psycopg
from django.db import connection as django_connection

from observatory.store.texts import clean_json
from observatory.store.times import from_seconds
from observatory.wire.records import ClientRun

MOST_TAKEN = 1_000
"""reports of a cluster that are applied in one transaction, for which others wait"""
COLUMNS = "run, time, start, outcome, name, tags, client_user, code, exception_type"


def store_client_runs(connection: psycopg.Connection, cluster: int, runs: Sequence[ClientRun]) -> None:
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


def clusters_with_client_runs() -> list[int]:
    """The clusters with client runs since the last `take_client_runs`."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT cluster_id FROM opened_run")
        return [cluster for (cluster,) in cursor.fetchall()]


def clusters_with_client_run(run: UUID) -> list[int]:
    """The clusters with reports of one client run since the last `take_client_runs`."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT cluster_id FROM opened_run WHERE run = %s", [run])
        return [cluster for (cluster,) in cursor.fetchall()]


def take_client_runs(cluster: int) -> list[ClientRun]:
    """The first MOST_TAKEN of a cluster in order; they are deleted with Django's current transaction."""
    with django_connection.cursor() as cursor:
        cursor.execute(
            f"""DELETE FROM opened_run WHERE id IN (
                    SELECT id FROM opened_run WHERE cluster_id = %s ORDER BY id LIMIT %s)
                RETURNING id, {COLUMNS}""",
            [cluster, MOST_TAKEN],
        )
        return [_client_run(*row) for _, *row in sorted(cursor.fetchall(), key=lambda row: row[0])]


def _client_run(
    run: UUID,
    time: datetime,
    start: datetime,
    outcome: str,
    name: str,
    tags: str | dict[str, str],
    user: str,
    code: str,
    exception_type: str,
) -> ClientRun:
    # Django's connections return JSON as text
    read = json.loads(tags) if isinstance(tags, str) else tags
    return ClientRun(
        run, time.timestamp(), start.timestamp(), outcome, name, read, user, code, exception_type
    )
