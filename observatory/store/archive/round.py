"""One round of archiving, by Celery or by the command."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from time import monotonic

from observatory.store.archive import catalogue
from observatory.store.archive.archiving import Archived, archive_cluster
from observatory.store.archive.pace import Pace
from observatory.store.archive.place import Place, required_place
from observatory.store.archive.removal import sweep
from observatory.store.archive.waiting import SETTLED, has_live_clusters, waiting_clusters
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
    return total


def archive_again(place: Place) -> None:
    """Give up all files, such as those of an archive that is lost: the next rounds write them again."""
    with connect() as connection, connection.transaction():
        for cluster in {piece.cluster for piece in catalogue.pieces(connection)}:
            catalogue.leave_cluster(connection, cluster)
    place.check(False)
