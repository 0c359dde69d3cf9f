"""One round of archiving, by Celery or by the command."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from time import monotonic, time

import psycopg
from django.conf import settings

from observatory.store.archive import catalogue, presence
from observatory.store.archive.place import Place, required_place
from observatory.store.archive.removal.departure import remove_rows
from observatory.store.archive.removal.uncounted_files import sweep
from observatory.store.archive.rounds.archiving import Archived, archive_cluster, archive_runs
from observatory.store.archive.rounds.changed_runs import clusters_with_other_runs
from observatory.store.archive.rounds.pace import Pace
from observatory.store.archive.rounds.waiting import (
    SETTLED,
    clusters_to_remove_from,
    has_live_clusters,
    waiting_clusters,
)
from observatory.store.connection import connect

LONGEST_ROUND = 40.0
"""seconds after which nothing more is begun, so that exports and tiles get their turn"""


def archive_round(
    seconds: float = LONGEST_ROUND,
    settled: timedelta = SETTLED,
    report: Callable[[int, Archived], None] = lambda cluster, done: None,
) -> Archived:
    """Remove leftovers and archive what waits. Raises ArchiveError.

    Clusters that ended `settled` ago are archived; `report` is called with each and what was written of it.
    """
    place = required_place()
    total = Archived()
    with connect() as connection:
        place.check(catalogue.is_used(connection))
        sweep(place)
        pace = Pace(monotonic() + seconds, has_live_clusters(connection))
        for cluster in waiting_clusters(connection, settled):
            if pace.is_over:
                break
            done = archive_cluster(cluster, place, pace)
            if done is not None:
                total.rows, total.bytes = total.rows + done.rows, total.bytes + done.bytes
                total.files += done.files
                report(cluster, done)
        for cluster in clusters_with_other_runs(connection, int(time() / 60)):
            if pace.is_over:
                break
            archive_runs(cluster, place)
        if settings.ARCHIVE_REMOVES_ROWS_AFTER is not None:
            total.removed = _remove_rows(connection, place, pace, settings.ARCHIVE_REMOVES_ROWS_AFTER)
    return total


def _remove_rows(connection: psycopg.Connection, place: Place, pace: Pace, after: timedelta) -> int:
    """Remove the rows that nobody needed for long; returns their number."""
    removed = 0
    unused = presence.SHORTLY_UNUSED if presence.is_full(connection) else presence.UNUSED
    for cluster in clusters_to_remove_from(connection, after, unused):
        if pace.is_over:
            break
        removed += remove_rows(cluster, place, pace, unused)
    return removed


def archive_again(place: Place) -> None:
    """Give up all files, such as those of an archive that is lost: the next rounds write them again.

    Not those whose rows left the tables: nothing else has these.
    """
    with connect() as connection, connection.transaction():
        catalogue.leave_all(connection)
    place.check(False)
