"""Makes an archived cluster one of this database, from its files alone.

Its records are then in the archive alone and come back when somebody needs them. Numbers (of the cluster, its
runs, workers, …) stay where they are free, so that addresses and built tiles stay true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import sleep

import psycopg
from psycopg.types.json import Jsonb

from observatory.store.archive import needed, presence
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files.run_tables import read_digests
from observatory.store.archive.place import Place
from observatory.store.archive.restoring.found_clusters import FoundCluster
from observatory.store.archive.restoring.numbers import Reserved
from observatory.store.archive.restoring.tables import NUMBERED, Restoration
from observatory.store.connection import connect
from observatory.wire.kinds import stored_kinds

NECESSARY = ("cluster", *NUMBERED)


@dataclass(frozen=True, slots=True)
class Adopted:
    """A cluster that is here now."""

    number: int
    is_new: bool
    """not here before"""
    keeps_numbers: bool = True


@contextmanager
def readers_know(say: Callable[[str], object]) -> Iterator[None]:
    """Have all processes know that records may be in the archive alone, before the first of them are.

    They may not for REMEMBERED seconds; says so and waits.
    """
    with connect() as connection:
        if not presence.is_any_listed(connection):
            presence.announce(connection)
            say("all processes must know that records are in the archive alone: this takes a minute")
            sleep(needed.REMEMBERED)
        yield
        presence.forget_cluster(connection, presence.NO_CLUSTER)


def adopt(
    place: Place, project: int, cluster: FoundCluster, reserved: Reserved, without: Collection[str] = ()
) -> Adopted:
    """Make a cluster one of a project, in one transaction. Does nothing if it is one already.

    `without` are the paths of damaged files, which do not count. Raises ArchiveError and psycopg.Error.
    """
    for table in NECESSARY:
        piece = cluster.piece(table)
        if piece is None or piece.path in without:
            raise ArchiveError(f"{cluster.where} can't be adopted without its file {table}")
    with connect() as connection, connection.transaction():
        known = _known(connection, project, cluster)
        if known is not None:
            return Adopted(known, False)
        restoration = Restoration(connection, place, cluster, reserved, without)
        restoration.run(project)
        _enter(connection, restoration, cluster, without)
        return Adopted(restoration.number, True, restoration.keeps_numbers)


def _known(connection: psycopg.Connection, project: int, cluster: FoundCluster) -> int | None:
    """The number of the cluster if it is the project's already. Raises ArchiveError if it is another's."""
    row = connection.execute(
        "SELECT id FROM clusters_cluster WHERE project_id = %s AND scheduler_id = %s",
        [project, cluster.scheduler],
    ).fetchone()
    if row:
        return int(row[0])
    row = connection.execute(
        "SELECT cluster_id FROM archive_piece WHERE path = ANY(%s) LIMIT 1",
        [[piece.path for piece in cluster.pieces]],
    ).fetchone()
    if row:
        raise ArchiveError(f"{cluster.where} has the files of cluster {row[0]}, which is in another project")
    return None


def _enter(
    connection: psycopg.Connection,
    restoration: Restoration,
    cluster: FoundCluster,
    without: Collection[str],
) -> None:
    """Enter the files in the catalogue, and that the records are in them alone."""
    number = restoration.number
    pieces = [piece for piece in cluster.pieces if piece.path not in without]
    with connection.cursor() as cursor:
        cursor.executemany(
            """INSERT INTO archive_piece (cluster_id, kind, start, stop, path, state, format, rows, bytes,
                   first, last, statistics, checksum)
               VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""",
            [
                (
                    number,
                    piece.kind,
                    piece.start,
                    piece.stop,
                    piece.path,
                    piece.state,
                    piece.format,
                    piece.rows,
                    piece.bytes,
                    piece.first,
                    piece.last,
                    Jsonb(piece.statistics),
                    piece.checksum,
                )
                for piece in pieces
            ],
        )
    kinds = sorted({piece.kind for piece in pieces} & {kind.name for kind in stored_kinds()})
    connection.execute(
        "INSERT INTO archived_rows (cluster_id, kind, is_removed) SELECT %s, unnest(%s::text[]), true",
        [number, kinds],
    )
    # other numbers than those of the files: the next round writes them again
    is_same = restoration.keeps_numbers and not without
    runs = read_digests(connection, [number])[number] if is_same else ""
    connection.execute(
        """INSERT INTO archived_cluster (cluster_id, sequence, runs)
           SELECT cluster_id, sequence, %s FROM extent WHERE cluster_id = %s""",
        [runs, number],
    )
