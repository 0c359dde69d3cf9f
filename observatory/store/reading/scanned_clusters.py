"""Which of many clusters a search has to look into: files of those that are archived are read together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing

import psycopg

from observatory.store.archive import catalogue
from observatory.store.archive.scans.conditions import Condition
from observatory.store.places.scan_places import scan_place

AT_ONCE = 5_000
"""clusters whose files are looked up at once"""


def may_have_rows(
    connection: psycopg.Connection, clusters: Sequence[int], wanted: dict[str, Condition]
) -> Generator[tuple[int, bool]]:
    """Each cluster, in order, and whether it may have rows that meet the condition of their kind.

    It may where not all of its records are in the archive, and where the archive can't be read. Raises
    NoPlace, AskerGone and psycopg.Error.
    """
    for first in range(0, len(clusters), AT_ONCE):
        some = clusters[first : first + AT_ONCE]
        files = catalogue.pieces_of_whole_clusters(connection, some, list(wanted))
        if not any(files.values()):
            yield from ((cluster, cluster not in files) for cluster in some)
            continue
        from observatory.store.archive.place import place
        from observatory.store.archive.scans.portions import Candidates

        archive = place()
        if archive is None:
            yield from ((cluster, True) for cluster in some)
            continue
        with scan_place(), closing(Candidates(archive, files, wanted)) as candidates:
            for cluster in some:
                yield cluster, candidates.may_have_rows(cluster)
