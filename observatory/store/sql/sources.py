"""What a query reads, as Parquet files: those of the archive, and files that are written from the tables.

A cluster is read from the archive if that has all of its records, otherwise from the tables.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from observatory.store.archive import needed
from observatory.store.archive.files.rows import read_rows, with_names
from observatory.store.archive.files.writing import schema_of as schema_of_files
from observatory.store.archive.files.writing import sorted_table
from observatory.store.archive.place import Place
from observatory.store.connection import connect
from observatory.store.sql.limits import Limits
from observatory.store.sql.tables import OF_CLUSTER, RecordTable, StoredTable
from observatory.wire.kind import Kind

FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


class TooManyRows(Exception):
    """The tables have more rows of what a query reads than may be read. The message says what to do."""


@dataclass(frozen=True, slots=True)
class QueryScope:
    """The clusters that a query sees, and the window of its records."""

    clusters: Mapping[int, tuple[str, str]]
    """project's short name and scheduler's id by number"""
    after: datetime = FIRST
    before: datetime = LAST


@dataclass(frozen=True, slots=True)
class Part:
    """A file with rows of a table; `values` are those of columns that the file lacks."""

    path: str
    is_archived: bool = False
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """All files of a table."""

    schema: pa.Schema
    parts: list[Part]
    time: str = ""
    """the column that is in the scope's window"""


class Sources:
    """Collects the sources of one query in a folder of its own.

    Methods raise TooManyRows, ArchiveError and psycopg.Error.
    """

    def __init__(self, folder: Path, scope: QueryScope, place: Place | None, limits: Limits) -> None:
        self._folder, self._scope, self._place, self._limits = folder, scope, place, limits
        self._numbers = count()
        self.rows = 0
        """that were read from the tables"""

    def of(self, table: RecordTable | StoredTable) -> Source:
        return self._of_records(table) if isinstance(table, RecordTable) else self._of_stored(table)

    def _of_records(self, table: RecordTable) -> Source:
        kind, parts = table.kind, []
        with self._connect() as connection, self._connect() as naming:
            archived = self._archived_pieces(connection, kind)
            for cluster, values in self._scope.clusters.items():
                of_cluster = tuple(zip(OF_CLUSTER, values, strict=True))
                if cluster in archived:
                    parts += [Part(path, True, of_cluster) for path in archived[cluster]]
                    continue
                needed.require(connection, [cluster], [kind.name])
                with closing(self._records(connection, naming, kind, cluster)) as rows:
                    path = self._write(schema_of_files(kind), rows)
                if path:
                    parts.append(Part(path, False, of_cluster))
        return Source(table.schema, parts, kind.time)

    def _of_stored(self, table: StoredTable) -> Source:
        with (
            self._connect() as connection,
            connection.transaction(),
            closing(table.read(connection, self._scope.clusters)) as rows,
        ):
            path = self._write(table.schema, rows)
        return Source(table.schema, [Part(path)] if path else [])

    def _connect(self) -> psycopg.Connection:
        connection = connect()
        connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{self._limits.seconds}s"])
        return connection

    def _archived_pieces(self, connection: psycopg.Connection, kind: Kind) -> dict[int, list[str]]:
        """The paths of the clusters whose records are all in the archive."""
        if self._place is None:
            return {}
        rows = connection.execute(
            """SELECT archived.cluster_id, array_agg(path ORDER BY start) FILTER (
                   WHERE piece.start < %(before)s AND piece.stop > %(after)s)
               FROM archived_cluster archived JOIN extent USING (cluster_id)
               LEFT JOIN archive_piece piece ON piece.cluster_id = archived.cluster_id
                   AND piece.kind = %(kind)s AND piece.state = 'stored'
               WHERE archived.sequence = extent.sequence AND archived.cluster_id = ANY(%(clusters)s)
               GROUP BY archived.cluster_id""",
            {
                "kind": kind.name,
                "clusters": list(self._scope.clusters),
                "after": self._scope.after,
                "before": self._scope.before,
            },
        )
        return {cluster: paths or [] for cluster, paths in rows}

    def _records(
        self, connection: psycopg.Connection, naming: psycopg.Connection, kind: Kind, cluster: int
    ) -> Generator[pa.Table]:
        # the COPY ends with it, also where too many rows end the reading: the connection would wait for ever
        with closing(read_rows(connection, kind, cluster, self._scope.after, self._scope.before)) as batches:
            for batch in batches:
                yield sorted_table(kind, with_names(naming, kind, pa.Table.from_batches([batch])))

    def _write(self, schema: pa.Schema, tables: Iterable[pa.Table]) -> str:
        """The path of a file with the rows; "" where there are none."""
        path = self._folder / f"{next(self._numbers)}.parquet"
        writer: pq.ParquetWriter | None = None
        try:
            for table in tables:
                self._count(table.num_rows)
                writer = writer or pq.ParquetWriter(path, schema, compression="lz4", store_schema=False)
                writer.write_table(table)
        finally:
            if writer:
                writer.close()
        return str(path) if writer else ""

    def _count(self, rows: int) -> None:
        self.rows += rows
        if self.rows > self._limits.rows_read:
            raise TooManyRows(
                f"The query reads more than {self._limits.rows_read:,} rows of the database: choose clusters "
                "or a shorter window with `after` and `before`."
            )
