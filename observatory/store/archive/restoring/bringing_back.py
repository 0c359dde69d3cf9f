"""Brings archived rows back into the tables that they left: the tables are the cache of the archive."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql
from pyarrow import csv

from observatory.store.archive import catalogue, presence
from observatory.store.archive.catalogue import Piece
from observatory.store.archive.errors import DamagedFile, LacksColumns
from observatory.store.archive.place import Place, required_place
from observatory.store.archive.restoring.ids import Ids, missing_columns, with_ids
from observatory.store.archive.row_lock import changing_rows, lock_rows
from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.schema.time_series import table_of
from observatory.wire.kinds import KINDS

ROWS_AT_ONCE = 32_768
Report = Callable[[int, int], object]
"""is called with the number of rows that were copied by now, and of all"""


def bring_back(cluster: int, kinds: Collection[str], report: Report = lambda done, rows: None) -> None:
    """Have the rows of these kinds of a cluster in their tables, all in one transaction.

    Waits for another process that does the same. Raises ArchiveError while the archive can't be reached, and
    psycopg.Error; then nothing has changed.
    """
    with connect() as connection:
        with changing_rows(connection, cluster) as is_there:
            pieces = bring_back_within(connection, cluster, kinds, report) if is_there else []
        summarize(connection, pieces)


def bring_back_within(
    connection: psycopg.Connection,
    cluster: int,
    kinds: Collection[str],
    report: Report = lambda done, rows: None,
) -> list[Piece]:
    """As `bring_back`, as part of a transaction that has locked the cluster's extent; returns their files."""
    lock_rows(connection, cluster)
    wanted = [kind for kind in presence.removed_kinds(connection, cluster) if kind in kinds]
    if not wanted:
        return []
    place = required_place()
    place.check(is_used=True)
    pieces = [piece for piece in catalogue.pieces(connection, cluster) if piece.kind in wanted]
    done, rows = 0, sum(piece.rows for piece in pieces)
    report(done, rows)
    _prepare(pieces)
    choose(connection).allow_deletes(connection)  # and as many new rows in what is compressed
    for kind in wanted:
        ids = Ids(connection, cluster)
        for piece in pieces:
            if piece.kind == kind:
                for copied in copied_rows(connection, place, piece, ids, kind):
                    done += copied
                    report(done, rows)
        presence.note_brought_back(connection, cluster, kind)
    pa.default_memory_pool().release_unused()
    return pieces


def summarize(connection: psycopg.Connection, pieces: Iterable[Piece]) -> None:
    """Have indexes and statistics know what was copied from files.

    Autovacuum has them know, but minutes later, and until then each query reads all of these rows.
    """
    engine = choose(connection)
    days: dict[str, set[date]] = {}
    for piece in pieces:
        days.setdefault(piece.kind, set()).add(piece.start.date())
    for kind, of_kind in days.items():
        for partition in engine.partitions(connection, table_of(kind), of_kind):
            connection.execute(
                """SELECT brin_summarize_new_values(indexrelid::regclass)
                   FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
                   WHERE indrelid = %s::regclass AND amname = 'brin'""",
                [partition],
            )
            connection.execute(sql.SQL("ANALYZE {}").format(sql.SQL(partition)))


def _prepare(pieces: Iterable[Piece]) -> None:
    """Make the partitions of days that retention dropped for all clusters but this one."""
    with connect() as connection:
        engine = choose(connection)
        for piece in pieces:
            engine.prepare(connection, table_of(piece.kind), [piece.start.date()])


def copied_rows(
    connection: psycopg.Connection, place: Place, piece: Piece, ids: Ids, table: str
) -> Iterator[int]:
    """Copy the rows of a file into a table that has the columns of its kind; yields numbers of rows.

    Raises ArchiveError.
    """
    kind = KINDS[piece.kind]
    copied = 0
    with place.open(piece.path) as stream:
        for batch in _batches(place, piece, stream):
            rows = with_ids(kind, ids, batch)
            copy_rows(connection, table, rows)
            copied += rows.num_rows
            yield rows.num_rows
    if copied != piece.rows:
        raise DamagedFile(
            f"{place.name}/{piece.path} has {copied:,} rows, the catalogue says {piece.rows:,}: see "
            "`dask-observatory archive verify`."
        )


def _batches(place: Place, piece: Piece, stream: pa.NativeFile) -> Iterator[pa.Table]:
    try:
        file = pq.ParquetFile(stream, page_checksum_verification=True)
        missing = missing_columns(KINDS[piece.kind], file.schema_arrow.names)
        if missing:
            raise LacksColumns(f"{place.name}/{piece.path} lacks the columns {', '.join(missing)}.")
        for group in range(file.num_row_groups):
            # the rows of a group are sorted by name: its parts are brought in order of time one by one
            for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=[group]):
                yield pa.Table.from_batches([batch])
    except (OSError, pa.ArrowException) as error:
        raise DamagedFile(f"{place.name}/{piece.path} can't be read: {error}.") from error


def copy_rows(connection: psycopg.Connection, table: str, rows: pa.Table) -> None:
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, rows.column_names))
    )
    data = io.BytesIO()
    # a text that is empty is quoted, a null is not
    csv.write_csv(rows, data, csv.WriteOptions(include_header=False))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(data.getbuffer())
