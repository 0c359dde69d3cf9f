"""The tables that hold no records in time. docs/architecture/store.md says what their columns mean.

They are made by the migrations. Those that a window of a cluster refers to are described column by column.
"""

from __future__ import annotations

from dataclasses import dataclass

from observatory.wire.columns import Column, ColumnType
from observatory.wire.kind import MAXIMUM_LONG_LENGTH, MAXIMUM_NAME_LENGTH
from observatory.wire.records import MetricType


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows extracts read and the loader stores, without `cluster_id` and derived columns."""

    name: str
    columns: tuple[Column, ...]
    time: str = ""
    """the column that its rows are in order of; "": it holds no records in time"""
    stop: str = ""
    """the column of its rows' ends, where they last"""


def _names(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.TEXT, limit=MAXIMUM_NAME_LENGTH) for name in names)


def _refers(name: str, table: str, is_optional: bool = False) -> Column:
    return Column(name, ColumnType.REFERENCE, refers=table, is_optional=is_optional)


ID = Column("id", ColumnType.REFERENCE)

REFERRED = (
    Table(
        "worker",
        (
            ID,
            *_names("address", "name", "host", "end_reason", "status"),
            Column("nthreads", ColumnType.INTEGER, least=0),
            Column("memory_limit", ColumnType.BIGINT, least=0),
            Column("resources", ColumnType.OBJECT),
            Column("detail", ColumnType.OBJECT),
            Column("started", ColumnType.TIME),
            Column("ended", ColumnType.TIME, is_optional=True),
        ),
    ),
    Table(
        "lane",
        (
            ID,
            _refers("worker_id", "worker"),
            Column("thread", ColumnType.BIGINT),
            Column("position", ColumnType.INTEGER, least=0),
        ),
    ),
    Table("prefix", (ID, *_names("name"))),
    Table("task_group", (ID, _refers("prefix_id", "prefix"), *_names("name"))),
    Table("typename", (ID, *_names("name"))),
    Table(
        "series",
        (
            ID,
            _refers("worker_id", "worker", is_optional=True),
            *_names("metric"),
            Column("labels", ColumnType.OBJECT),
            Column("type", ColumnType.INTEGER, least=0, most=len(MetricType) - 1),
        ),
    ),
    Table("stack", (ID, Column("frames", ColumnType.TEXT, limit=MAXIMUM_LONG_LENGTH))),
)
"""the tables that records refer to, each after those that it refers to itself"""

DIMENSIONS = (
    *(table.name for table in REFERRED),
    "agent",
    "extent",
    "hole",
    "opened_run",
    "late",
    "keyframe",
    "tile",
)
CATALOGUE = ("archive_piece", "archived_cluster", "archived_rows")
"""what is where in the archive: rows that outlive those of a cluster until its files are removed"""
