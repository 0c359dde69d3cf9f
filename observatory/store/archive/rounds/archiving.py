"""Archives a cluster that has ended: writes the files that are missing, or have other rows than the tables.

Rows stay in their tables; removal/departure.py removes them later. Each day of each kind is read in one
snapshot, and its files are entered at once.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from time import monotonic
from typing import Any
from urllib.parse import quote

import psycopg
import pyarrow as pa

from observatory.store.archive import catalogue, presence
from observatory.store.archive.catalogue import LEAVING, REPLACED, Piece, Written
from observatory.store.archive.files.own_thread import in_own_thread
from observatory.store.archive.files.rows import read_rows, with_names
from observatory.store.archive.files.run_tables import RUN_TABLES, read_digests
from observatory.store.archive.files.stretches import ROWS_OF_A_GROUP, Stretch, files_of_day, rows_by_day
from observatory.store.archive.files.tables import CATALOGUE, OTHER_TABLES, OtherTable
from observatory.store.archive.files.writing import sorted_table, write_records, write_table
from observatory.store.archive.place import FORMAT, Place
from observatory.store.archive.removal.uncounted_files import remove
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.pace import Pace
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import ARCHIVE, try_lock
from observatory.store.queries.extents import Extent, read_extent
from observatory.store.schema.time_series import table_of
from observatory.store.times import from_seconds
from observatory.wire.kind import Kind
from observatory.wire.kinds import stored_kinds

SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
BYTES_OF_A_GROUP = 16 << 20
"""of rows as they come from the database: a row group with long texts has fewer rows"""
SHORT = frozenset({"dependency", "profile", "sample", "span", "spill", "steal", "transition"})
"""kinds of which ROWS_OF_A_GROUP rows have less than BYTES_OF_A_GROUP"""
LONGEST_NAME = 100
"""of a cluster in a path"""
DAY = timedelta(days=1)
FREELY = Pace()


@dataclass(slots=True)
class Archived:
    """What was written of a cluster."""

    rows: int = 0
    bytes: int = 0
    files: int = 0
    removed: int = 0
    """rows that left their tables"""

    def add(self, written: Written) -> None:
        self.rows += written.rows
        self.bytes += written.bytes
        self.files += 1


@dataclass(slots=True)
class _Cluster:
    number: int
    folder: str
    """project and cluster in paths, as Hive's partitions"""
    about: dict[str, Any]
    """what each file says of it"""
    extent: Extent
    result: Archived = field(default_factory=Archived)


def archive_cluster(cluster: int, place: Place, pace: Pace = FREELY) -> Archived | None:
    """Write what is missing; None if another process is at it, or if the cluster has no records.

    When the pace's time is over, the next round goes on. Raises ArchiveError and psycopg.Error; what was
    written by then stays.
    """
    with connect() as connection, try_lock(connection, cluster, ARCHIVE) as is_ours:
        found = _find(connection, cluster) if is_ours else None
        if found is None:
            return None
        remove(connection, cluster, place)
        catalogue.note_begun(connection, cluster)
        with connect() as reading:
            for kind in stored_kinds():
                _archive_records(connection, reading, found, place, kind, pace)
            if not pace.is_over:
                for table in OTHER_TABLES:
                    _archive_table(connection, reading, found, place, table)
                runs = _archive_runs(connection, reading, found, place)
                catalogue.note_archived(connection, cluster, found.extent.sequence, runs)
        pa.default_memory_pool().release_unused()
        return found.result


def archive_runs(cluster: int, place: Place) -> Archived | None:
    """Write what is known of an archived cluster's runs anew. As `archive_cluster` otherwise."""
    with connect() as connection, try_lock(connection, cluster, ARCHIVE) as is_ours:
        found = _find(connection, cluster) if is_ours else None
        if found is None:
            return None
        with connect() as reading:
            catalogue.note_runs(connection, cluster, _archive_runs(connection, reading, found, place))
        return found.result


def _archive_runs(
    connection: psycopg.Connection, reading: psycopg.Connection, cluster: _Cluster, place: Place
) -> str:
    """Write the files about runs, then the list of all files; returns the digest of the former's rows."""
    digest = read_digests(connection, [cluster.number])[cluster.number]
    for table in RUN_TABLES:
        _archive_table(connection, reading, cluster, place, table.file)
    # what is replaced from now on is in the list
    replaced = catalogue.pieces(connection, cluster.number, (REPLACED,))
    _archive_table(connection, reading, cluster, place, CATALOGUE)
    catalogue.give_up(connection, [piece.id for piece in replaced], LEAVING)
    remove(connection, cluster.number, place)
    return digest


def _find(connection: psycopg.Connection, cluster: int) -> _Cluster | None:
    row = connection.execute(
        """SELECT project.slug, scheduler_id, cluster.name, now() FROM clusters_cluster cluster
           JOIN clusters_project project ON project.id = project_id WHERE cluster.id = %s""",
        [cluster],
    ).fetchone()
    extent = read_extent(connection, cluster)
    if row is None or extent is None:
        return None
    project, scheduler, name, written = row
    folder = f"project={in_path(project)}/cluster={in_path(scheduler)}"
    return _Cluster(
        cluster,
        folder,
        {"project": project, "cluster": scheduler, "name": name, "written": written.isoformat()},
        extent,
    )


def in_path(text: str) -> str:
    """A text as one part of a path, that of no other text."""
    quoted = quote(text, safe="")
    if len(quoted) <= LONGEST_NAME:
        return quoted
    return f"{re.sub('[^A-Za-z0-9_-]', '_', text)[:40]}~{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _archive_records(
    connection: psycopg.Connection,
    reading: psycopg.Connection,
    cluster: _Cluster,
    place: Place,
    kind: Kind,
    pace: Pace,
) -> None:
    """Write the days of a kind whose numbers of rows are not those of their files."""
    first, last = from_seconds(cluster.extent.first), from_seconds(cluster.extent.last)
    are_removed = kind.name in presence.removed_kinds(connection, cluster.number)
    by_day = rows_by_day(reading, table_of(kind.name), cluster.number, first - DAY, last)
    if are_removed:
        if not by_day:
            return
        # late records: files of their days are written again with all rows
        bring_back(cluster.number, [kind.name])
        by_day = rows_by_day(reading, table_of(kind.name), cluster.number, first - DAY, last)
    stored: dict[date, list[Piece]] = {}
    for piece in catalogue.pieces(connection, cluster.number):
        if piece.kind == kind.name:
            stored.setdefault(piece.start.date(), []).append(piece)
    for day in sorted(by_day.keys() | stored.keys()):
        old = stored.get(day, [])
        if sum(piece.rows for piece in old) != by_day.get(day, 0) and not pace.is_over:
            _write_day(connection, reading, cluster, place, kind, day, old, pace)


def _write_day(
    connection: psycopg.Connection,
    reading: psycopg.Connection,
    cluster: _Cluster,
    place: Place,
    kind: Kind,
    day: date,
    old: list[Piece],
    pace: Pace,
) -> None:
    written: list[tuple[int, Written]] = []
    with reading.transaction():
        reading.execute(SNAPSHOT)
        for stretch in files_of_day(reading, table_of(kind.name), cluster.number, day):
            path = _path(kind.name, cluster, stretch.start)
            piece = catalogue.begin(
                connection, cluster.number, kind.name, stretch.start, stretch.stop, path, FORMAT
            )
            groups = _groups(connection, reading, kind, cluster.number, stretch, pace)
            about = {**cluster.about, "kind": kind.name, **_times(stretch.start, stretch.stop)}
            rows = max(part.rows for part in stretch.parts)
            written.append(
                (piece, write_records(place, path, kind, about, groups, min(rows, ROWS_OF_A_GROUP)))
            )
    _enter(connection, cluster, written, old)


def _groups(
    connection: psycopg.Connection,
    reading: psycopg.Connection,
    kind: Kind,
    cluster: int,
    stretch: Stretch,
    pace: Pace,
) -> Iterator[pa.Table]:
    """Row groups. `connection` reads names, while the rows of the next one come from `reading`."""
    began = monotonic()
    with closing(in_own_thread(_read(reading, kind, cluster, stretch))) as groups:
        for rows in groups:
            yield sorted_table(kind, with_names(connection, kind, rows))
            pace.rest(monotonic() - began)
            began = monotonic()


def _read(connection: psycopg.Connection, kind: Kind, cluster: int, stretch: Stretch) -> Generator[pa.Table]:
    """The rows of the row groups of a file, as their table has them."""
    for part in stretch.parts:
        # what is not divided needs no order: a row group is sorted by other columns
        in_order = part.rows > ROWS_OF_A_GROUP or kind.name not in SHORT
        yield from _bounded(read_rows(connection, kind, cluster, part.start, part.stop, in_order=in_order))


def _bounded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows, up to ROWS_OF_A_GROUP and about BYTES_OF_A_GROUP at a time."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        while batch.num_rows:
            taken = batch.slice(0, ROWS_OF_A_GROUP - rows)
            batch = batch.slice(taken.num_rows)
            waiting.append(taken)
            rows, size = rows + taken.num_rows, size + taken.nbytes
            if rows >= ROWS_OF_A_GROUP or size >= BYTES_OF_A_GROUP:
                yield pa.Table.from_batches(waiting)
                waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _archive_table(
    connection: psycopg.Connection,
    reading: psycopg.Connection,
    cluster: _Cluster,
    place: Place,
    table: OtherTable,
) -> None:
    old = [piece for piece in catalogue.pieces(connection, cluster.number) if piece.kind == table.name]
    start, stop = from_seconds(cluster.extent.first), from_seconds(cluster.extent.last)
    path = _path(table.name, cluster, start)
    piece = catalogue.begin(connection, cluster.number, table.name, start, stop, path, FORMAT)
    with reading.transaction():
        reading.execute(SNAPSHOT)
        groups = table.read(reading, cluster.number)
        about = {**cluster.about, "kind": table.name, **_times(start, stop)}
        written = write_table(place, path, table.schema, about, groups)
    state = LEAVING if table is CATALOGUE else REPLACED
    _enter(connection, cluster, [(piece, written)], old, state)


def _enter(
    connection: psycopg.Connection,
    cluster: _Cluster,
    written: list[tuple[int, Written]],
    old: list[Piece],
    state: str = REPLACED,
) -> None:
    if catalogue.enter(connection, cluster.number, written, [piece.id for piece in old], state):
        for _, each in written:
            cluster.result.add(each)


def _path(kind: str, cluster: _Cluster, start: datetime) -> str:
    """A path that no file ever had."""
    return f"{kind}/{cluster.folder}/{start:%Y-%m-%dT%H%M%S}-{secrets.token_hex(4)}.parquet"


def _times(start: datetime, stop: datetime) -> dict[str, str]:
    return {"start": start.isoformat(), "stop": stop.isoformat()}
