"""Notes that a batch held late records, for alerts/evaluation/late_data.py."""

from __future__ import annotations

from datetime import datetime

import psycopg
from django.db import connection as django_connection

from observatory.store.ingest.validated import Accepted
from observatory.store.times import from_seconds

LATENESS = 3.5
"""seconds before `committed` at which records come that nobody calls late: a collector knows by then that
its scheduler hangs, and an agent what its workers told"""
TOLD = ("log", "error")
"""the kinds of rows, beside samples and events, that alerts are about"""


def note_late(connection: psycopg.Connection, accepted: Accepted, committed_before: float) -> None:
    """Part of the writer's transaction; a batch that isn't late costs a comparison."""
    settled = committed_before - LATENESS
    times = (accepted.samples.times, accepted.happened, *(accepted.times_of(kind) for kind in TOLD))
    earliest = min((float(some.min()) for some in times if len(some)), default=settled)
    if earliest < settled:
        connection.execute(
            "INSERT INTO late (cluster_id, since) VALUES (%s, %s)",
            [accepted.cluster, from_seconds(earliest)],
        )


def note_since(cluster: int, since: datetime) -> None:
    """Notes what became known late without a record of its own: that a run ended."""
    with django_connection.cursor() as cursor:
        cursor.execute("INSERT INTO late (cluster_id, since) VALUES (%s, %s)", [cluster, since])


def with_late() -> list[int]:
    """The clusters of which something late came since it was last taken up."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT cluster_id FROM late")
        return [cluster for (cluster,) in cursor.fetchall()]


def take_late(cluster: int) -> datetime | None:
    """Since when late records came; the notes are gone when Django's transaction at hand is committed."""
    with django_connection.cursor() as cursor:
        cursor.execute("DELETE FROM late WHERE cluster_id = %s RETURNING since", [cluster])
        return min((since for (since,) in cursor.fetchall()), default=None)
