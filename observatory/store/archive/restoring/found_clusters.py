"""The clusters whose files a folder has, whatever the database knows of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from observatory.store.archive.catalogue import STORED, Piece
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files.run_tables import RUN_TABLES
from observatory.store.archive.files.tables import CATALOGUE, OTHER_TABLES, OtherTable
from observatory.store.archive.files.verification import Fault
from observatory.store.archive.files.writing import METADATA
from observatory.store.archive.place import FORMAT, Place
from observatory.store.archive.restoring.ids import missing_columns
from observatory.wire.kinds import stored_kinds

KNOWN_TABLES = {table.name: table for table in (*OTHER_TABLES, *(table.file for table in RUN_TABLES))}


@dataclass(frozen=True, slots=True)
class FoundCluster:
    """A cluster as its file `catalogue` lists its files."""

    project: str
    scheduler: str
    name: str
    written: str
    """when the list was, by the clock of the database"""
    start: datetime
    stop: datetime
    pieces: tuple[Piece, ...]
    """those of the list, and the list itself; of no cluster yet"""

    @property
    def bytes(self) -> int:
        return sum(piece.bytes for piece in self.pieces)

    @property
    def where(self) -> str:
        """Its folder."""
        return _folder(self.pieces[-1].path)

    def piece(self, table: str) -> Piece | None:
        return next((piece for piece in self.pieces if piece.kind == table), None)


@dataclass(frozen=True, slots=True)
class Found:
    """What a place has."""

    clusters: list[FoundCluster]
    """those that began first first"""
    faults: list[Fault]
    """lists that can't be read"""
    unlisted: list[str]
    """folders of clusters that have no list yet"""


def find_clusters(place: Place) -> Found:
    """The clusters of a place. Raises ArchiveError."""
    found: dict[str, FoundCluster] = {}
    faults: list[Fault] = []
    folders: set[str] = set()
    for path in place.files():
        if not path.endswith(".parquet"):
            continue
        folders.add(_folder(path))
        if not path.startswith(f"{CATALOGUE.name}/"):
            continue
        try:
            cluster = _read_list(place, path)
        except ArchiveError as error:
            faults.append(Fault(path, str(error)))
            continue
        if cluster.where not in found or found[cluster.where].written < cluster.written:
            found[cluster.where] = cluster
    broken = {_folder(fault.where) for fault in faults}
    return Found(
        sorted(found.values(), key=lambda cluster: cluster.start),
        faults,
        sorted(folders - found.keys() - broken),
    )


def check_files(place: Place, cluster: FoundCluster) -> Iterator[Fault | Piece]:
    """Each file of a cluster if it is as the list says, or what is wrong with it."""
    for piece in cluster.pieces:
        try:
            _check(place, piece)
        except ArchiveError as error:
            yield Fault(piece.path, str(error))
        else:
            yield piece


def retention_days(place: Place, cluster: FoundCluster, damaged: Collection[str]) -> int:
    """For how long the cluster's records were kept; 0 if that isn't known. Raises ArchiveError."""
    piece = cluster.piece("cluster")
    if piece is None or piece.path in damaged:
        return 0
    return max(
        (row["retention_days"] or 0 for row in read_table(place, cluster, KNOWN_TABLES["cluster"])), default=0
    )


def read_table(place: Place, cluster: FoundCluster, table: OtherTable) -> Iterator[dict[str, Any]]:
    """The rows of one of the files beside those of records; columns that it lacks are None.

    There are none where the cluster has no such file. Raises ArchiveError.
    """
    piece = cluster.piece(table.name)
    if piece is not None:
        yield from _rows(place, piece.path, table)


def _rows(place: Place, path: str, table: OtherTable) -> Iterator[dict[str, Any]]:
    empty = dict.fromkeys(table.columns)
    try:
        with place.open(path) as stream:
            file = pq.ParquetFile(stream)
            columns = [name for name in file.schema_arrow.names if name in table.columns]
            for batch in file.iter_batches(1_000, columns=columns):
                schema = pa.schema([(name, table.columns[name]) for name in columns])
                for row in pa.Table.from_batches([batch]).select(columns).cast(schema).to_pylist():
                    yield empty | row
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"{place.name}/{path} can't be read: {error}.") from error


def _read_list(place: Place, path: str) -> FoundCluster:
    about = _about(place, path)
    rows = list(_rows(place, path, CATALOGUE))
    try:
        start, stop = (datetime.fromisoformat(about[name]) for name in ("start", "stop"))
        pieces = [
            Piece(
                0,
                0,
                state=STORED,
                **{**row, "statistics": json.loads(row["statistics"]), "format": int(row["format"])},
            )
            for row in rows
        ]
        with place.open(path) as stream:
            size = stream.size()
        itself = Piece(
            0,
            0,
            CATALOGUE.name,
            start,
            stop,
            path,
            STORED,
            about["format"],
            len(rows),
            size,
            None,
            None,
            {},
            place.checksum(path),
        )
        return FoundCluster(
            about["project"],
            about["cluster"],
            about["name"],
            str(about["written"]),
            start.astimezone(UTC),
            stop.astimezone(UTC),
            (*pieces, itself),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArchiveError(f"it is no list of files: {error}") from error


def _about(place: Place, path: str) -> dict[str, Any]:
    """What a file says of itself."""
    try:
        with place.open(path) as stream:
            metadata = pq.read_metadata(stream).metadata or {}
        about = json.loads(metadata[METADATA.encode()])
        version = int(about["format"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise ArchiveError(f"it is damaged, or no file of an archive: {error}") from error
    if version > FORMAT:
        raise ArchiveError(f"a later version of Observatory wrote it (format {version}): upgrade")
    return dict(about)


def _check(place: Place, piece: Piece) -> None:
    if place.checksum(piece.path) != piece.checksum:
        raise ArchiveError("its checksum differs: the file was changed or is damaged")
    _about(place, piece.path)
    with place.open(piece.path) as stream:
        names = pq.read_schema(stream).names
    kind = next((kind for kind in stored_kinds() if kind.name == piece.kind), None)
    if kind:
        if missing := missing_columns(kind, names):
            raise ArchiveError(f"an earlier version wrote it without {', '.join(missing)}")
    elif piece.kind not in KNOWN_TABLES and piece.kind != CATALOGUE.name:
        raise ArchiveError(f"nothing is known of files of the kind {piece.kind[:100]!r}")


def _folder(path: str) -> str:
    """The part of a path that is the cluster's."""
    return "/".join(path.split("/")[1:-1])
