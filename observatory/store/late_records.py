"""What is late: records after which alerts are evaluated again, and runs are counted again."""

from __future__ import annotations

from collections.abc import Collection
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


def take_late(clusters: Collection[int]) -> dict[int, datetime]:
    """The earliest time of late records of those of `clusters` that have some.

    These notes are deleted with Django's current transaction.
    """
    if not clusters:
        return {}
    found: dict[int, datetime] = {}
    with django_connection.cursor() as cursor:
        query = "DELETE FROM late WHERE cluster_id = ANY(%s) RETURNING cluster_id, since"
        cursor.execute(query, [list(clusters)])
        for cluster, since in cursor.fetchall():
            found[cluster] = min(since, found.get(cluster, since))
    return found
