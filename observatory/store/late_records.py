"""What is late: records after which alerts are evaluated again, and runs are counted again."""

from __future__ import annotations

from datetime import datetime

from django.db import connection as django_connection

LATENESS = 3.5
"""seconds before `committed` until which records are not late: by then a collector has noticed that its
scheduler hangs, and an agent has received the records of its workers"""
COUNTING = 10.0
"""seconds after the end of a run for which its figures are counted again without a note"""
EXTENDED = 1.0
"""seconds after the stop of a run in which its last tasks may end"""


def note_since(cluster: int, since: datetime) -> None:
    """Records a late change that has no record of its own, such as the end of a run."""
    with django_connection.cursor() as cursor:
        cursor.execute("INSERT INTO late (cluster_id, since) VALUES (%s, %s)", [cluster, since])


def with_late() -> list[int]:
    """The clusters with late records since the last `take_late`."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT cluster_id FROM late")
        return [cluster for (cluster,) in cursor.fetchall()]


def take_late(cluster: int) -> datetime | None:
    """The earliest time of late records. These notes are deleted with Django's current transaction."""
    with django_connection.cursor() as cursor:
        cursor.execute("DELETE FROM late WHERE cluster_id = %s RETURNING since", [cluster])
        return min((since for (since,) in cursor.fetchall()), default=None)
