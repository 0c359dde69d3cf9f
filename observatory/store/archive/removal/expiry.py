"""Retention of archived rows that left their tables: files of days that are over go, others are filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import psycopg

from observatory.store.archive import catalogue, presence
from observatory.store.archive.catalogue import Piece
from observatory.store.archive.row_lock import changing_rows
from observatory.store.maintenance.retained_windows import RetainedWindow


def expire(
    connection: psycopg.Connection,
    cluster: int,
    cutoffs: Mapping[str, datetime],
    retained: Sequence[RetainedWindow],
) -> None:
    """Give up the files of removed rows whose whole day is before the cutoff of their kind.

    Rows of files with records of retained windows come back, so that retention removes the others of them as
    it does all rows; the files are written again then. Raises ArchiveError and psycopg.Error.
    """
    for kind in presence.removed_kinds(connection, cluster):
        pieces = [piece for piece in catalogue.pieces(connection, cluster) if piece.kind == kind]
        old = [piece for piece in pieces if piece.stop <= cutoffs[kind]]
        mixed = [piece for piece in old if _overlaps_any(piece, retained)]
        _leave(connection, cluster, kind, [piece for piece in old if piece not in mixed])
        if not mixed:
            continue
        by = f"{max(piece.start for piece in mixed):%Y-%m-%d} {sorted(retained)}"
        if by != presence.filtered_by(connection, cluster, kind):
            _filter(connection, cluster, kind, by)


def _overlaps_any(piece: Piece, windows: Sequence[RetainedWindow]) -> bool:
    first, last = piece.first or piece.start, piece.last or piece.stop
    return any(first < window.stop and last >= window.start for window in windows)


def _leave(connection: psycopg.Connection, cluster: int, kind: str, pieces: Sequence[Piece]) -> None:
    """Give up files, unless their rows are coming back."""
    if pieces:
        with changing_rows(connection, cluster):
            if kind in presence.removed_kinds(connection, cluster):
                catalogue.give_up(connection, [piece.id for piece in pieces])
                catalogue.look_again(connection, cluster)


def _filter(connection: psycopg.Connection, cluster: int, kind: str, by: str) -> None:
    # imports pyarrow, which retention without an archive doesn't need
    from observatory.store.archive.restoring.bringing_back import bring_back

    bring_back(cluster, [kind])
    presence.note_filtered(connection, cluster, kind, by)
