"""The catalogue of the archive: which file has which rows, and how far each file is.

A row is there before its file and stays until the file is gone: whatever a process leaves when it dies is
known. Files that the catalogue does not list as stored do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

WRITING, STORED, REPLACED, LEAVING = "writing", "stored", "replaced", "leaving"
"""the states of a piece: its file is being written, is complete, does not count any more but is still in the
cluster's file `catalogue`, or is to be removed"""
COLUMNS = """id, cluster_id AS cluster, kind, start, stop, path, state, format, rows, bytes, first, last,
    statistics, checksum"""


@dataclass(frozen=True, slots=True)
class Piece:
    """One file: the rows of one kind of a cluster with a time in [start, stop)."""

    id: int
    cluster: int
    kind: str
    start: datetime
    stop: datetime
    path: str
    state: str
    format: int
    rows: int
    bytes: int
    first: datetime | None
    last: datetime | None
    """from the first row's start to the last row's end"""
    statistics: dict[str, list[Any]]
    """least and greatest value by column"""
    checksum: str


@dataclass(frozen=True, slots=True)
class Written:
    """What is known of a file once it is written."""

    rows: int
    bytes: int
    checksum: str
    first: datetime | None = None
    last: datetime | None = None
    statistics: dict[str, list[Any]] = field(default_factory=dict)


def begin(
    connection: psycopg.Connection,
    cluster: int,
    kind: str,
    start: datetime,
    stop: datetime,
    path: str,
    format: int,
) -> int:
    """Note that a file is going to be written; returns the piece's id."""
    row = connection.execute(
        """INSERT INTO archive_piece (cluster_id, kind, start, stop, path, state, format)
           VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id""",
        [cluster, kind, start, stop, path, WRITING, format],
    ).fetchone()
    assert row is not None
    return int(row[0])


def enter(
    connection: psycopg.Connection,
    cluster: int,
    written: Sequence[tuple[int, Written]],
    old: Iterable[int],
    state: str = REPLACED,
) -> bool:
    """Enter the pieces that were written in place of the `old` ones, all at once; these get the `state`.

    False, and nothing is entered, if the cluster was deleted meanwhile.
    """
    with connection.transaction():
        known = connection.execute("SELECT FROM extent WHERE cluster_id = %s FOR SHARE", [cluster]).fetchone()
        if known is None:
            return False
        for id, piece in written:
            entered = connection.execute(
                """UPDATE archive_piece SET state = %s, rows = %s, bytes = %s, checksum = %s, first = %s,
                       last = %s, statistics = %s, written = now()
                   WHERE id = %s AND state = %s""",
                [
                    STORED,
                    piece.rows,
                    piece.bytes,
                    piece.checksum,
                    piece.first,
                    piece.last,
                    Jsonb(piece.statistics),
                    id,
                    WRITING,
                ],
            )
            if not entered.rowcount:
                raise psycopg.errors.NoDataFound(f"piece {id} is not being written")
        give_up(connection, old, state)
    return True


def give_up(connection: psycopg.Connection, pieces: Iterable[int], state: str = REPLACED) -> None:
    """Have pieces not count any more.

    Replaced ones go once the cluster's file `catalogue` is written without them, leaving ones at once.
    """
    connection.execute("UPDATE archive_piece SET state = %s WHERE id = ANY(%s)", [state, list(pieces)])


def leave_cluster(connection: psycopg.Connection, cluster: int) -> None:
    """Give up all pieces of a cluster, as part of the transaction that deletes its rows."""
    connection.execute("UPDATE archive_piece SET state = %s WHERE cluster_id = %s", [LEAVING, cluster])
    connection.execute("DELETE FROM archived_cluster WHERE cluster_id = %s", [cluster])


def leave_all(connection: psycopg.Connection) -> None:
    """Give up all pieces but those of rows that left their tables."""
    # first: who removes rows has locked these, and is waited for
    connection.execute("DELETE FROM archived_cluster")
    connection.execute(
        """UPDATE archive_piece piece SET state = %s WHERE NOT EXISTS (
               SELECT FROM archived_rows rows
               WHERE rows.cluster_id = piece.cluster_id AND rows.kind = piece.kind AND is_removed)""",
        [LEAVING],
    )


def leave_unknown_clusters(connection: psycopg.Connection) -> None:
    """Give up the pieces of clusters that have no extent any more."""
    connection.execute(
        """UPDATE archive_piece SET state = %s
           WHERE state <> %s AND cluster_id NOT IN (SELECT cluster_id FROM extent)""",
        [LEAVING, LEAVING],
    )


def forget(connection: psycopg.Connection, piece: int) -> None:
    """Delete the row of a piece whose file is gone."""
    connection.execute("DELETE FROM archive_piece WHERE id = %s", [piece])


def pieces(
    connection: psycopg.Connection, cluster: int | None = None, states: Sequence[str] = (STORED,)
) -> list[Piece]:
    """The pieces of a cluster, or of all, by cluster, kind and time."""
    with connection.cursor(row_factory=class_row(Piece)) as cursor:
        return cursor.execute(
            f"""SELECT {COLUMNS} FROM archive_piece
                WHERE (%(cluster)s::int IS NULL OR cluster_id = %(cluster)s) AND state = ANY(%(states)s)
                ORDER BY cluster_id, kind, start, id""",
            {"cluster": cluster, "states": list(states)},
        ).fetchall()


def pieces_of_whole_clusters(
    connection: psycopg.Connection, clusters: Sequence[int], kinds: Sequence[str]
) -> dict[int, list[Piece]]:
    """Those of kinds, by cluster and in its order, of the clusters whose records are all in the archive."""
    rows = connection.execute(
        """SELECT cluster_id FROM archived_cluster JOIN extent USING (cluster_id)
           WHERE archived_cluster.sequence = extent.sequence AND cluster_id = ANY(%s)""",
        [list(clusters)],
    )
    whole = {cluster for (cluster,) in rows}
    found: dict[int, list[Piece]] = {cluster: [] for cluster in clusters if cluster in whole}
    with connection.cursor(row_factory=class_row(Piece)) as cursor:
        cursor.execute(
            f"""SELECT {COLUMNS} FROM archive_piece
                WHERE cluster_id = ANY(%s) AND kind = ANY(%s) AND state = %s ORDER BY kind, start, id""",
            [list(found), list(kinds), STORED],
        )
        for piece in cursor:
            found[piece.cluster].append(piece)
    return found


def are_stored(connection: psycopg.Connection, ids: Sequence[int]) -> bool:
    """Whether all of these pieces still count."""
    row = connection.execute(
        "SELECT count(*) FROM archive_piece WHERE id = ANY(%s) AND state = %s", [list(ids), STORED]
    ).fetchone()
    return row is not None and row[0] == len(ids)


def clusters_with_leftovers(connection: psycopg.Connection) -> list[int]:
    """The clusters with pieces that are being written or are leaving."""
    rows = connection.execute(
        "SELECT DISTINCT cluster_id FROM archive_piece WHERE state IN ('writing', 'leaving') ORDER BY 1"
    )
    return [cluster for (cluster,) in rows]


def is_used(connection: psycopg.Connection) -> bool:
    """Whether any file is or was there."""
    return (
        connection.execute("SELECT FROM archive_piece WHERE state <> 'writing' LIMIT 1").fetchone()
        is not None
    )


def note_begun(connection: psycopg.Connection, cluster: int) -> None:
    """Note that a cluster's rows are going to be compared with its pieces."""
    connection.execute(
        """INSERT INTO archived_cluster (cluster_id, sequence)
           SELECT cluster_id, -1 FROM extent WHERE cluster_id = %s FOR SHARE ON CONFLICT DO NOTHING""",
        [cluster],
    )


def note_archived(connection: psycopg.Connection, cluster: int, sequence: int, runs: str) -> None:
    """Note that the cluster is archived as it was after its batch number `sequence`; `runs` is their digest.

    Not so if somebody had it looked at again since `note_begun`.
    """
    connection.execute(
        "UPDATE archived_cluster SET sequence = %s, runs = %s, archived = now() WHERE cluster_id = %s",
        [sequence, runs, cluster],
    )


def note_runs(connection: psycopg.Connection, cluster: int, runs: str) -> None:
    """Note that what was found out and written about a cluster's runs is archived, by digest."""
    connection.execute("UPDATE archived_cluster SET runs = %s WHERE cluster_id = %s", [runs, cluster])


def look_again(connection: psycopg.Connection, cluster: int) -> None:
    """Have a cluster's rows compared with its pieces again, as part of a transaction that removes rows."""
    connection.execute("DELETE FROM archived_cluster WHERE cluster_id = %s", [cluster])


def look_again_at(connection: psycopg.Connection, kind: str, start: datetime, stop: datetime) -> None:
    """As `look_again`, for all clusters with files of a kind that begin in [start, stop)."""
    connection.execute(
        """DELETE FROM archived_cluster WHERE cluster_id IN (
               SELECT cluster_id FROM archive_piece WHERE kind = %s AND start >= %s AND start < %s)""",
        [kind, start, stop],
    )
