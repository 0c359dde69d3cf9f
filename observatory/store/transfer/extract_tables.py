"""What a window of a cluster consists of, outside of the store: each table's columns, and what they may hold.

The order is that in which the tables are stored again: each after those that it refers to.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import LiteralString

from observatory.wire.records import TASK_STATES, Action, Status

INT2, INT4, INT8 = 2**15, 2**31, 2**63


class Type(Enum):
    """What a column holds, and the type of its column in a block (wire/blocks.py)."""

    TIME = ("time", "f64")
    """seconds since the epoch; 0: none"""
    REAL = ("real", "f64")
    INTEGER = ("integer", "i32")
    LONG = ("long", "i64")
    REFERENCE = ("reference", "i32")
    """the id of a row of another table; 0: none"""
    NAME = ("name", "text")
    TEXT = ("text", "text")
    LONG_TEXT = ("long text", "text")
    KEY = ("key", "text")
    """what `encode_keys` leaves of a key"""
    OBJECT = ("object", "text")
    """JSON"""
    JSON = ("JSON", "text")
    """an object or a list"""
    UUID = ("uuid", "text")

    @property
    def column(self) -> str:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Column:
    name: LiteralString
    type: Type
    least: int = 0
    most: int = 0
    """what numbers may be"""
    refers: LiteralString = ""
    """the table that a reference is to"""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    name: LiteralString
    columns: tuple[Column, ...]
    time: LiteralString = ""
    """the column that it is in order of; "": it isn't of records in time"""
    stop: LiteralString = ""
    """the column of its rows' ends, where they last"""

    @property
    def is_of_long_texts(self) -> bool:
        return any(column.type in (Type.LONG_TEXT, Type.OBJECT, Type.JSON) for column in self.columns)


def _time(name: LiteralString, is_optional: bool = False) -> Column:
    return Column(name, Type.TIME, is_optional=is_optional)


def _integer(name: LiteralString, most: int = INT4 - 1, least: int = 0) -> Column:
    return Column(name, Type.INTEGER, least, most)


def _long(name: LiteralString, least: int = 0) -> Column:
    return Column(name, Type.LONG, least, INT8 - 1)


def _refers(name: LiteralString, table: LiteralString, is_optional: bool = False) -> Column:
    return Column(name, Type.REFERENCE, refers=table, is_optional=is_optional)


def _columns(type: Type, *names: LiteralString) -> tuple[Column, ...]:
    return tuple(Column(name, type) for name in names)


ID = Column("id", Type.REFERENCE)
TIME = _time("time")
WORKER = _refers("worker_id", "worker", is_optional=True)
GROUP = _refers("group_id", "task_group")
KEY = Column("key_rest", Type.KEY)
(COMPUTATION,) = _columns(Type.NAME, "computation")

DIMENSIONS = (
    Table(
        "worker",
        (
            ID,
            *_columns(Type.NAME, "address", "name", "host", "end_reason", "status"),
            _integer("nthreads"),
            _long("memory_limit"),
            *_columns(Type.OBJECT, "resources", "detail"),
            _time("started"),
            _time("ended", is_optional=True),
        ),
    ),
    Table("lane", (ID, _refers("worker_id", "worker"), _long("thread", -INT8), _integer("position"))),
    Table("prefix", (ID, Column("name", Type.NAME))),
    Table("task_group", (ID, _refers("prefix_id", "prefix"), Column("name", Type.NAME))),
    Table("typename", (ID, Column("name", Type.NAME))),
    Table(
        "series",
        (ID, WORKER, Column("metric", Type.NAME), Column("labels", Type.OBJECT), _integer("type", 2)),
    ),
    Table("stack", (ID, Column("frames", Type.LONG_TEXT))),
)

RECORDS = (
    Table(
        "span",
        (
            _time("start"),
            _time("stop"),
            _long("nbytes"),
            _refers("lane_id", "lane"),
            _refers("prefix_id", "prefix"),
            GROUP,
            _refers("typename_id", "typename"),
            _integer("action", len(Action) - 1),
            _integer("status", len(Status) - 1),
            KEY,
        ),
        "start",
        "stop",
    ),
    Table("sample", (TIME, Column("value", Type.REAL), _refers("series_id", "series")), "time"),
    Table("event", (TIME, WORKER, Column("kind", Type.NAME), Column("detail", Type.OBJECT)), "time"),
    Table(
        "transition",
        (
            TIME,
            GROUP,
            KEY,
            WORKER,
            _integer("start", len(TASK_STATES) - 1, -1),
            _integer("finish", len(TASK_STATES) - 1, -1),
            *_columns(Type.NAME, "stimulus"),
        ),
        "time",
    ),
    Table(
        "error",
        (
            TIME,
            Column("id", Type.UUID),
            WORKER,
            _refers("prefix_id", "prefix"),
            GROUP,
            KEY,
            _integer("retries"),
            _integer("dependents"),
            *_columns(Type.NAME, "outcome", "exception_type"),
            *_columns(Type.TEXT, "message"),
            *_columns(Type.LONG_TEXT, "traceback"),
            *_columns(Type.JSON, "workers"),
        ),
        "time",
    ),
    Table(
        "log",
        (
            TIME,
            WORKER,
            _long("pid"),
            _integer("role", 2, -1),
            _integer("level", INT2 - 1, -INT2),
            *_columns(Type.NAME, "logger"),
            *_columns(Type.TEXT, "message"),
            *_columns(Type.LONG_TEXT, "traceback"),
        ),
        "time",
    ),
    Table(
        "computation",
        (
            TIME,
            COMPUTATION,
            *_columns(Type.NAME, "client"),
            *_columns(Type.LONG_TEXT, "code"),
            *_columns(Type.JSON, "groups", "spans", "annotations"),
        ),
        "time",
    ),
    Table(
        "group_dependency",
        (TIME, GROUP, _refers("depends_on_id", "task_group"), _long("edges"), COMPUTATION),
        "time",
    ),
    Table(
        "dependency",
        (
            TIME,
            GROUP,
            KEY,
            _refers("depends_on_group_id", "task_group"),
            *_columns(Type.KEY, "depends_on_rest"),
            COMPUTATION,
        ),
        "time",
    ),
    Table(
        "task",
        (
            TIME,
            GROUP,
            KEY,
            _long("retries"),
            COMPUTATION,
            *_columns(Type.NAME, "priority"),
            *_columns(Type.JSON, "annotations", "resources"),
        ),
        "time",
    ),
    Table(
        "profile",
        (
            TIME,
            WORKER,
            _refers("prefix_id", "prefix", is_optional=True),
            _refers("stack_id", "stack"),
            _long("count"),
            _integer("source", 255),
        ),
        "time",
    ),
    Table(
        "transfer",
        (
            _time("start"),
            _time("stop"),
            _long("nbytes"),
            _long("compressed"),
            WORKER,
            _long("count"),
            _integer("direction", 255),
            *_columns(Type.NAME, "peer"),
            *_columns(Type.JSON, "keys"),
        ),
        "start",
        "stop",
    ),
    Table(
        "steal",
        (
            TIME,
            *_columns(Type.REAL, "cost", "victim_occupancy", "thief_occupancy"),
            GROUP,
            KEY,
            _integer("level", INT2 - 1, -INT2),
            *_columns(Type.NAME, "outcome", "victim", "thief"),
        ),
        "time",
    ),
)

TABLES = (*DIMENSIONS, *RECORDS)
