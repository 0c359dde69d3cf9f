"""The columns of the files of records: those that people read, with names in place of ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from observatory.store.archive.files.names import Path
from observatory.wire.columns import Column, ColumnType, Reading
from observatory.wire.kind import Kind

TIME = pa.timestamp("us", "UTC")
TYPES = {
    ColumnType.TIME: TIME,
    ColumnType.REAL: pa.float64(),
    ColumnType.SMALLINT: pa.int16(),
    ColumnType.INTEGER: pa.int32(),
    ColumnType.REFERENCE: pa.int32(),
    ColumnType.BIGINT: pa.int64(),
}
"""of a table's columns; all others are texts"""
OF_NAMED = {"thread": pa.int64(), "position": pa.int32()}
"""types of columns of the tables in names.TABLES; all others are texts"""


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file, and where in the table its values are from."""

    name: str
    type: pa.DataType
    source: str
    """the table's column"""
    table: str = ""
    """the table that `source` refers to"""
    path: Path = ()
    """of the value, from the row that `source` refers to"""
    labels: tuple[str, ...] = ()
    """the texts that numbers stand for; any other number is "unknown" """
    group: str = ""
    """of a key: the column that refers to its group"""

    @property
    def is_name(self) -> bool:
        """Whether few values occur in many rows."""
        return bool(self.table or self.labels)


@cache
def file_columns(kind: Kind) -> tuple[FileColumn, ...]:
    """The columns of the files of a declared kind, in order."""
    return tuple(_columns(kind))


def _columns(kind: Kind) -> Iterator[FileColumn]:
    of_table = {column.name: column for column in kind.columns}
    for reading in kind.readings:
        if reading.item:  # it is in the object that people read as well
            continue
        column, *path = reading.path
        if reading.name == "prefix" and "prefix_id" in of_table:
            column, path = "prefix_id", ["name"]
        if of_table[column].refers == "stack":
            path = ["identity"]
        yield _column(reading, of_table[column], tuple(path))
        if path and path[-1] == "address":
            # an address can be reused; the number of a lifetime among its cluster's can't
            name = f"{reading.name}_lifetime"
            yield FileColumn(
                name, OF_NAMED["position"], column, of_table[column].refers, (*path[:-1], "position")
            )
        if reading.group and not _shows(kind, reading.group):
            # the group of a key can't be told from its text alone: 1 and "1" are of two
            yield FileColumn(
                f"{reading.name}_group", pa.string(), reading.group, of_table[reading.group].refers, ("name",)
            )


def _shows(kind: Kind, group: str) -> bool:
    """Whether people read the names of a column's groups."""
    return any(reading.path == (group, "name") for reading in kind.readings)


def _column(reading: Reading, column: Column, path: Path) -> FileColumn:
    if path:
        type = OF_NAMED.get(path[-1], pa.string())
        return FileColumn(reading.name, type, column.name, column.refers, path, reading.labels)
    if reading.labels:
        return FileColumn(reading.name, pa.string(), column.name, labels=reading.labels)
    type = TYPES.get(column.type, pa.string())
    return FileColumn(reading.name, type, column.name, group=reading.group)
