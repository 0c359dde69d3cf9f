"""Temporary tables that hide those of kinds of records from the queries of one transaction.

PostgreSQL looks for a table among a session's temporary ones first, so that queries are the same, whether
they read rows of the tables, or rows that a scan found in files.
"""

from __future__ import annotations

from contextlib import suppress

import psycopg
import pyarrow as pa
from psycopg import sql

from observatory.store.archive.restoring.bringing_back import copy_rows
from observatory.store.archive.restoring.ids import Ids, with_ids
from observatory.store.reading.connections import ReadingConnection
from observatory.wire.kinds import KINDS

MANY_ROWS = 10_000
"""from which on series are looked up with an index"""


class Shadow:
    """The table of a kind, with a scan's rows of a cluster. Methods raise ArchiveError and psycopg.Error."""

    def __init__(self, connection: ReadingConnection, cluster: int, kind: str) -> None:
        self._connection, self._cluster, self._kind = connection, cluster, kind
        self._table = sql.Identifier(kind)
        self._ids = Ids(connection, cluster)
        connection.execute(
            sql.SQL("CREATE TEMPORARY TABLE {} (LIKE {}) ON COMMIT DROP").format(self._table, self._table)
        )
        # a prepared query would go on with the table that it knows
        connection.execute("DISCARD PLANS")
        connection.scanned[kind] = cluster

    def fill(self, rows: pa.Table | None) -> None:
        """Have these rows of files in the table, and no others."""
        self._connection.execute(sql.SQL("TRUNCATE pg_temp.{}").format(self._table))
        if rows is not None and rows.num_rows:
            self.add(with_ids(KINDS[self._kind], self._ids, rows))

    def add(self, rows: pa.Table) -> None:
        """Have these rows, which have ids already, in the table as well."""
        copy_rows(self._connection, self._kind, rows)
        if rows.num_rows >= MANY_ROWS and self._kind == "sample":
            self._connection.execute("CREATE INDEX ON pg_temp.sample (series_id, time)")
            self._connection.execute("ANALYZE pg_temp.sample")

    @property
    def is_there(self) -> bool:
        """Whether queries find its rows: no new snapshot was begun for rows that came back."""
        return self._connection.scanned.get(self._kind) == self._cluster

    def drop(self) -> None:
        """Have queries find the rows of the kind's table again."""
        if not self.is_there:
            return
        with suppress(psycopg.Error):  # of a transaction that failed: it is gone with it
            self._connection.read_table(self._kind)
