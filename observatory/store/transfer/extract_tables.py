"""The tables of a window of a cluster, in the order in which a file of them is stored again."""

from __future__ import annotations

from observatory.store.schema.dimensions import REFERRED, Table
from observatory.wire.columns import ColumnType
from observatory.wire.kind import MAXIMUM_LONG_LENGTH
from observatory.wire.kinds import stored_kinds


def record_tables() -> tuple[Table, ...]:
    """The tables of records in time."""
    return tuple(Table(kind.name, kind.columns, kind.time, kind.stop) for kind in stored_kinds())


def tables() -> tuple[Table, ...]:
    """Each table after those that it refers to."""
    return (*REFERRED, *record_tables())


def has_long_texts(table: Table) -> bool:
    return any(
        column.type in (ColumnType.OBJECT, ColumnType.JSON) or column.limit >= MAXIMUM_LONG_LENGTH
        for column in table.columns
    )
