"""Compares the archive's files with the catalogue, and with the rows while these are in their tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from observatory.store.archive import catalogue, presence
from observatory.store.archive.catalogue import LEAVING, REPLACED, STORED, WRITING, Piece
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files.stretches import rows_by_day
from observatory.store.archive.place import Place
from observatory.store.queries.extents import read_extent
from observatory.store.schema.time_series import table_of
from observatory.store.times import from_seconds
from observatory.wire.kinds import stored_kinds


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a file, or with the rows of a day."""

    where: str
    text: str


def verify_files(
    connection: psycopg.Connection, place: Place, cluster: int | None = None
) -> Iterator[Fault | Piece]:
    """Each piece whose file is as the catalogue says, or its fault; then files that no piece has."""
    pieces = catalogue.pieces(connection, cluster)
    for piece in pieces:
        fault = _fault(place, piece)
        yield Fault(piece.path, fault) if fault else piece
    if cluster is None:
        known = {
            piece.path for piece in catalogue.pieces(connection, states=(STORED, WRITING, REPLACED, LEAVING))
        }
        for path in place.files():
            if path.removesuffix(".part") not in known:
                yield Fault(
                    path,
                    "the catalogue does not list it: nothing of Observatory's reads it. Remove it, or adopt "
                    "its cluster if it is of a database that is lost (archive adopt)",
                )


def _fault(place: Place, piece: Piece) -> str:
    try:
        if place.checksum(piece.path) != piece.checksum:
            return "its checksum differs: the file was changed or is damaged"
        with place.open(piece.path) as stream:
            rows = pq.read_metadata(stream).num_rows
    except (ArchiveError, pa.ArrowException) as error:
        return str(error)
    return "" if rows == piece.rows else f"it has {rows:,} rows, the catalogue says {piece.rows:,}"


def verify_rows(connection: psycopg.Connection, cluster: int) -> Iterator[Fault]:
    """The days of a cluster on which the tables have other numbers of rows than the files."""
    extent = read_extent(connection, cluster)
    if extent is None:
        return
    first, last = from_seconds(extent.first) - timedelta(days=1), from_seconds(extent.last)
    pieces = catalogue.pieces(connection, cluster)
    removed = presence.removed_kinds(connection, cluster)
    for kind in stored_kinds():
        if kind.name in removed:  # what is in the table came late
            continue
        archived: dict[date, int] = {}
        for piece in pieces:
            if piece.kind == kind.name:
                archived[piece.start.date()] = archived.get(piece.start.date(), 0) + piece.rows
        stored = rows_by_day(connection, table_of(kind.name), cluster, first, last)
        for day in sorted(archived.keys() | stored.keys()):
            if (rows := stored.get(day, 0)) != (files := archived.get(day, 0)):
                text = f"{files:,} rows in files, {rows:,} in the table: the next round writes them again"
                yield Fault(f"cluster {cluster}, {kind.name}, {day}", text)
