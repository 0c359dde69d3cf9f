"""Removes archived rows from their tables, after making sure that the files give back the same rows."""

from __future__ import annotations

import logging
from collections import deque
from datetime import timedelta
from time import monotonic

import psycopg
from psycopg import sql

from observatory.store.archive import catalogue, presence
from observatory.store.archive.catalogue import Piece
from observatory.store.archive.errors import ArchiveError, LacksColumns
from observatory.store.archive.place import Place
from observatory.store.archive.presence import UNUSED
from observatory.store.archive.restoring.bringing_back import copied_rows
from observatory.store.archive.restoring.ids import CLUSTER, Ids
from observatory.store.archive.rounds.pace import Pace
from observatory.store.archive.row_lock import changing_rows
from observatory.store.connection import connect
from observatory.store.engines import Engine, choose
from observatory.store.maintenance.advisory_lock import ARCHIVE, try_lock
from observatory.store.schema.time_series import table_of
from observatory.wire.kinds import KINDS

log = logging.getLogger(__name__)

COPY = "archived_copy"
"""a temporary table with the rows of one file"""


def remove_rows(cluster: int, place: Place, pace: Pace, unused: timedelta = UNUSED) -> int:
    """Remove the rows of kinds that nobody needed for a time, `unused`; returns their number.

    Only of a cluster whose records are all archived, and only what its files give back unchanged: that is
    looked at first. Raises ArchiveError and psycopg.Error; kinds that were done by then stay done.
    """
    removed = 0
    with connect() as connection, try_lock(connection, cluster, ARCHIVE) as is_ours:
        if not is_ours:
            return 0
        engine = choose(connection)
        presence.list_kinds(connection, cluster)
        for kind in presence.unused_kinds(connection, cluster, unused):
            if pace.is_over:
                break
            sequence = _archived_sequence(connection, cluster)
            pieces = [piece for piece in catalogue.pieces(connection, cluster) if piece.kind == kind]
            if sequence is None:
                break
            if all(_gives_back_its_rows(connection, place, piece, pace) for piece in pieces):
                removed += _remove(connection, engine, cluster, kind, sequence, unused)
            else:
                presence.try_later(connection, cluster, kind)
    return removed


def _archived_sequence(connection: psycopg.Connection, cluster: int) -> int | None:
    """The number of the cluster's last batch if all of its records are archived."""
    row = connection.execute(
        """SELECT archived.sequence FROM archived_cluster archived
           JOIN extent ON extent.cluster_id = archived.cluster_id AND extent.sequence = archived.sequence
           WHERE archived.cluster_id = %s FOR SHARE OF archived""",
        [cluster],
    ).fetchone()
    return row[0] if row else None


def _gives_back_its_rows(connection: psycopg.Connection, place: Place, piece: Piece, pace: Pace) -> bool:
    """Whether the rows of a file, with ids in place of names again, are those of the table."""
    began = monotonic()
    try:
        if place.checksum(piece.path) != piece.checksum:
            raise ArchiveError("its checksum differs: the file was changed or is damaged")
        with connection.transaction(force_rollback=True):
            table = sql.Identifier(piece.kind)
            connection.execute(
                sql.SQL("CREATE TEMPORARY TABLE {} (LIKE {}) ON COMMIT DROP").format(
                    sql.Identifier(COPY), table
                )
            )
            deque(copied_rows(connection, place, piece, Ids(connection, piece.cluster), COPY), maxlen=0)
            is_same = _digest(connection, piece, COPY) == _digest(connection, piece, piece.kind)
    except LacksColumns as error:
        log.info("%s The next round writes it again.", error)
        with connection.transaction():
            catalogue.give_up(connection, [piece.id])
            catalogue.look_again(connection, piece.cluster)
        return False
    except (ArchiveError, psycopg.errors.DataError, psycopg.errors.IntegrityError) as error:
        place.check(is_used=True)  # if the archive is away, so are all other files
        log.warning("rows of %s stay in their table: %s", piece.path, error)
        return False
    finally:
        pace.rest(monotonic() - began)
    if not is_same:
        log.warning("rows of %s stay in their table: the file has others", piece.path)
    return is_same


def _digest(connection: psycopg.Connection, piece: Piece, table: str) -> tuple[object, ...] | None:
    """The number of rows and the sum of their hashes, whatever their order."""
    columns = [*(column.name for column in KINDS[piece.kind].columns), CLUSTER]
    query = sql.SQL(
        """SELECT count(*), sum(hash_record_extended(ROW({columns}), 0)::numeric) FROM {table}
           WHERE cluster_id = {cluster} AND {time} >= {start} AND {time} < {stop}"""
    ).format(
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
        table=sql.Identifier(table),
        cluster=piece.cluster,
        time=sql.Identifier(KINDS[piece.kind].time),
        start=piece.start,
        stop=piece.stop,
    )
    return connection.execute(query).fetchone()


def _remove(
    connection: psycopg.Connection,
    engine: Engine,
    cluster: int,
    kind: str,
    sequence: int,
    unused: timedelta,
) -> int:
    """Remove the rows, unless somebody needs or changed them; returns their number."""
    # no late record goes with the rows
    with changing_rows(connection, cluster, keeps_writers_out=True) as is_there:
        if not is_there or _archived_sequence(connection, cluster) != sequence:
            return 0
        if not presence.note_removed(connection, cluster, kind, unused):
            return 0
        engine.allow_deletes(connection)
        times = connection.execute(
            """SELECT min(start), max(stop) FROM archive_piece
               WHERE cluster_id = %s AND kind = %s AND state = 'stored'""",
            [cluster, kind],
        ).fetchone()
        if times is None or times[0] is None:
            return 0
        statement = sql.SQL("DELETE FROM {} WHERE cluster_id = {} AND {time} >= {} AND {time} < {}").format(
            sql.Identifier(kind), cluster, *times, time=sql.Identifier(table_of(kind).time)
        )
        return connection.execute(statement).rowcount
