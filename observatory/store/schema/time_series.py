"""The tables of the declared kinds of records, as SQL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from observatory.wire.columns import Column, ColumnType, Index, Method
from observatory.wire.kind import Kind
from observatory.wire.kinds import KINDS, stored_kinds


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """A table of records in time: a hypertable on TimescaleDB, daily partitions on PostgreSQL alone."""

    name: str
    time: str
    """the column that it is partitioned by"""
    columns: str
    indexes: tuple[str, ...]
    segment_by: str
    order_by: str
    """how TimescaleDB's columnstore groups and orders rows"""
    keep_days: int = 0
    """as Kind.keep_days"""

    @property
    def end(self) -> str:
        """The column of a record's end, which is that of its time where it has no length."""
        return "stop" if self.time == "start" else self.time


BLOCKS = "WITH (pages_per_range = 32, autosummarize = on)"
"""Rows are stored in order of time: BRIN keeps the times of each block of pages."""
KEYS = "text_bloom_ops (n_distinct_per_range = 2000, false_positive_rate = 0.001)"
"""A filter of the keys in each block of pages: a twentieth of the size of a tree, and append-only."""

SQL_TYPES = {
    ColumnType.TIME: "timestamptz",
    ColumnType.REAL: "float8",
    ColumnType.BIGINT: "bigint",
    ColumnType.UUID: "uuid",
    ColumnType.REFERENCE: "integer",
    ColumnType.INTEGER: "integer",
    ColumnType.SMALLINT: "smallint",
    ColumnType.TEXT: "text",
    ColumnType.KEY: "text",
    ColumnType.OBJECT: "jsonb",
    ColumnType.JSON: "jsonb",
}
"""in the order of a table's columns: the widest first, so that rows need no padding"""


def time_series() -> tuple[TimeSeries, ...]:
    """The table of each declared kind that has one."""
    return tuple(map(_table, stored_kinds()))


def table_of(kind: str) -> TimeSeries:
    return _table(KINDS[kind])


@cache
def _table(kind: Kind) -> TimeSeries:
    columns = sorted(
        (*kind.columns, Column("cluster_id", ColumnType.INTEGER)),
        key=lambda column: list(SQL_TYPES).index(column.type),
    )
    return TimeSeries(
        name=kind.name,
        time=kind.time,
        columns=", ".join(map(_column, columns)),
        indexes=tuple(map(_index, kind.table_indexes)),
        segment_by=", ".join(kind.segment_by),
        order_by=f"{kind.time}, {kind.stop}" if kind.stop else kind.time,
        keep_days=kind.keep_days,
    )


def _column(column: Column) -> str:
    default = " DEFAULT ''" if column.may_lack else ""
    return f"{column.name} {SQL_TYPES[column.type]}{'' if column.is_optional else ' NOT NULL'}{default}"


def _index(index: Index) -> str:
    columns = ", ".join(index.columns)
    match index.method:
        case Method.TREE:
            return f"USING btree ({columns})"
        case Method.BLOCKS:
            return f"USING brin ({columns}) {BLOCKS}"
        case Method.KEYS:
            return f"USING brin ({columns} {KEYS}) {BLOCKS}"
