"""Marks clusters with late records for alerts/evaluation/late_data.py."""

from __future__ import annotations

from datetime import datetime

import psycopg
from django.db import connection as django_connection

from observatory.store.ingest.validated import Accepted
from observatory.store.times import from_seconds

LATENESS = 3.5
"""seconds before `committed` within which records aren't late: by then a collector knows that its scheduler
hangs, and an agent has its workers' records"""
OTHER_KINDS = ("log", "error")
"""kinds of rows that rules read, besides samples and events"""


def note_late(connection: psycopg.Connection, accepted: Accepted, committed_before: float) -> None:
    """Part of the writer's transaction. Costs a comparison for a batch that isn't late."""
    settled = committed_before - LATENESS
    times = (accepted.samples.times, accepted.happened, *(accepted.times_of(kind) for kind in OTHER_KINDS))
    earliest = min((float(some.min()) for some in times if len(some)), default=settled)
    if earliest < settled:
        connection.execute(
            "INSERT INTO late (cluster_id, since) VALUES (%s, %s)",
            [accepted.cluster, from_seconds(earliest)],
        )


def note_since(cluster: int, since: datetime) -> None:
    """Marks late knowledge without a record, such as the end of a run."""
    with django_connection.cursor() as cursor:
        cursor.execute("INSERT INTO late (cluster_id, since) VALUES (%s, %s)", [cluster, since])


def with_late() -> list[int]:
    """The clusters with late records that haven't been evaluated."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT cluster_id FROM late")
        return [cluster for (cluster,) in cursor.fetchall()]


def take_late(cluster: int) -> datetime | None:
    """The earliest time of late records. Django's current transaction deletes the marks."""
    with django_connection.cursor() as cursor:
        cursor.execute("DELETE FROM late WHERE cluster_id = %s RETURNING since", [cluster])
        return min((since for (since,) in cursor.fetchall()), default=None)
