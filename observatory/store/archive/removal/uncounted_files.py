"""Removes files that do not count: those of dead processes, of replaced pieces and of deleted clusters."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import psycopg
from django.conf import settings

from observatory.store.archive import catalogue
from observatory.store.archive.catalogue import LEAVING, WRITING
from observatory.store.archive.errors import ArchiveError
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import ARCHIVE, try_lock

if TYPE_CHECKING:
    from observatory.store.archive.place import Place


log = logging.getLogger(__name__)


def remove(connection: psycopg.Connection, cluster: int, place: Place) -> int:
    """Remove the files of a cluster that do not count; returns their number. The caller holds its lock."""
    found = catalogue.pieces(connection, cluster, (WRITING, LEAVING))
    # a cluster whose file `catalogue` is gone is not adopted
    for piece in sorted(found, key=lambda piece: piece.kind != "catalogue"):
        place.remove(piece.path)
        catalogue.forget(connection, piece.id)
    return len(found)


def sweep(place: Place) -> int:
    """Remove all files that do not count, unless a process is at their cluster. Raises ArchiveError."""
    removed = 0
    with connect() as connection:
        catalogue.leave_unknown_clusters(connection)
        for cluster in catalogue.clusters_with_leftovers(connection):
            with try_lock(connection, cluster, ARCHIVE) as is_ours:
                removed += remove(connection, cluster, place) if is_ours else 0
    return removed


def remove_deleted(connection: psycopg.Connection, cluster: int) -> None:
    """Remove the files of a cluster that was deleted. What can't be removed now is left to `sweep`."""
    if not (settings.ARCHIVE and catalogue.pieces(connection, cluster, (WRITING, LEAVING))):
        return
    from observatory.store.archive.place import required_place

    try:
        place = required_place()
        place.check(is_used=True)
        with try_lock(connection, cluster, ARCHIVE) as is_ours:
            if is_ours:
                remove(connection, cluster, place)
    except ArchiveError as error:
        log.warning("files of the deleted cluster %d are removed later: %s", cluster, error)
