"""The peer of the writer: psycopg's own COPY, row by row, of rows that are ready made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.types.json import set_json_dumps

from observatory.wire.columns import ColumnType
from observatory.wire.kinds import KINDS

TYPES = {
    ColumnType.TIME: "timestamptz",
    ColumnType.REAL: "float8",
    ColumnType.SMALLINT: "int2",
    ColumnType.INTEGER: "int4",
    ColumnType.BIGINT: "int8",
    ColumnType.REFERENCE: "int4",
    ColumnType.TEXT: "text",
    ColumnType.KEY: "text",
    ColumnType.OBJECT: "jsonb",
    ColumnType.JSON: "jsonb",
    ColumnType.UUID: "uuid",
}
Row = tuple[Any, ...]


class BareCopy:
    """The rows of one kind of records that the writer stored, batch by batch, for another cluster."""

    def __init__(
        self, connection: psycopg.Connection, kind: str, written: int, bare: int, sizes: Sequence[int]
    ) -> None:
        columns = KINDS[kind].columns
        self.connection = connection
        self.kind = kind
        self.names = ", ".join(["cluster_id", *(column.name for column in columns)])
        self.types = ["int4", *(TYPES[column.type] for column in columns)]
        self.statement = f"COPY {kind} ({self.names}) FROM STDIN (FORMAT BINARY)"
        read = [
            f"{column.name}::text" if TYPES[column.type] == "jsonb" else column.name for column in columns
        ]
        # JSON is ready made, too
        set_json_dumps(str, connection)
        query = f"SELECT {bare}, {', '.join(read)} FROM {kind} WHERE cluster_id = %s"
        rows = iter(connection.execute(query, [written]).fetchall())
        self.batches = [[next(rows) for _ in range(size)] for size in sizes]

    def copy(self) -> None:
        for rows in self.batches:
            with self.connection.transaction():
                self.copy_batch(rows)

    def copy_batch(self, rows: Sequence[Row]) -> None:
        with self.connection.cursor() as cursor, cursor.copy(self.statement) as copy:
            copy.set_types(self.types)
            for row in rows:
                copy.write_row(row)
