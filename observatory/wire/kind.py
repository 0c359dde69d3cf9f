"""How a kind of record is declared. Each is one module in kinds/, and everything else is derived from it.

A record is a tuple in the order of its kind's fields. Each field says how it is stored: as it is, as the
number of a label, or as a reference to a row of another table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from functools import cached_property
from typing import Protocol

from observatory.wire.columns import Column, ColumnType, Index, Method, Reading, ValueType
from observatory.wire.records import MAXIMUM_KEY_LENGTH, MAXIMUM_TEXT_LENGTH

MAXIMUM_NAME_LENGTH = 500
MAXIMUM_LONG_LENGTH = 100_000


class Type(Enum):
    """The type of a field: its name, the type of its column in a block, and the most characters of a text."""

    TIME = ("time", "f64", 0)
    """seconds since the epoch on the scheduler's clock"""
    REAL = ("real", "f64", 0)
    COUNT = ("count", "u32", 0)
    INTEGER = ("integer", "i32", 0)
    CODE = ("code", "u8", 0)
    KEY = ("key", "text", MAXIMUM_KEY_LENGTH)
    """a task's key: a text as it is, anything else as `str` shows it"""
    NAME = ("name", "text", MAXIMUM_NAME_LENGTH)
    TEXT = ("text", "text", MAXIMUM_TEXT_LENGTH)
    LONG = ("long text", "text", MAXIMUM_LONG_LENGTH)
    JSON = ("JSON", "text", MAXIMUM_LONG_LENGTH)
    """an object or a list"""

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def column(self) -> str:
        return self.value[1]

    @property
    def limit(self) -> int:
        return self.value[2]


class Importance(IntEnum):
    """The order in which records are dropped when memory and disk are full: least important, oldest first."""

    SAMPLES = 0
    TASKS = 1
    FAILURES = 2


class Storage(Protocol):
    """How the values of a field are stored and read."""

    def columns(self, field: Field) -> Iterator[Column]:
        """The columns of the table."""

    def readings(self, field: Field) -> Iterator[Reading]:
        """The columns that people read."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    meaning: str
    unit: str = ""
    source: str = ""
    """Dask's attribute, hook or message"""
    stored: Storage | None = None
    """None: as a column of its own name, in the usual type for the field's type"""
    part: str = ""
    """as Column.part"""
    is_optional: bool = False
    """an empty text where older agents and files are without it; only the last fields of a kind are"""

    @property
    def storage(self) -> Storage:
        return self.stored or _USUAL[self.type]


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of record. Its name is that of its module; __init__.py of kinds/ sets it."""

    meaning: str
    importance: Importance
    fields: tuple[Field, ...]
    has_table: bool = True
    """False: its records become rows of other tables"""
    has_id: bool = False
    """each row gets a UUID as `id`"""
    reading: tuple[str, ...] = ()
    """the columns that people read, in order; by default those of the fields in the order of the fields"""
    clips_stop: bool = False
    """a record that ends before its start is stored without length; otherwise it is refused"""
    indexes: tuple[Index, ...] = ()
    """of the table; by default one of cluster and time"""
    segment_by: tuple[str, ...] = ("cluster_id",)
    """how TimescaleDB's columnstore groups rows"""
    keep_days: int = 0
    """records older than this are deleted, however long the project keeps its others; 0: no such limit"""
    part: str = ""
    """what a public link has to share for these records to be shown: logs, code or tracebacks; "": nothing"""
    name: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def required(self) -> tuple[Field, ...]:
        """The fields that each row and block has."""
        return tuple(field for field in self.fields if not field.is_optional)

    @cached_property
    def time_index(self) -> int:
        """The position of a row's time among its fields."""
        return next(index for index, field in enumerate(self.fields) if field.type is Type.TIME)

    @cached_property
    def time(self) -> str:
        """The column that rows are ordered and partitioned by: the first field of type time."""
        return self.fields[self.time_index].name

    @cached_property
    def stop(self) -> str:
        """The column of the end of records that last; "": they have no length."""
        return "stop" if self.time == "start" and "stop" in self.names else ""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The table's columns but for `cluster_id`, in the order of the fields."""
        if not self.has_table:
            return ()
        made = [Column("id", ColumnType.UUID)] if self.has_id else []
        for field in self.fields:
            made += [
                replace(column, part=field.part, may_lack=field.is_optional)
                for column in field.storage.columns(field)
            ]
        return tuple(made)

    @cached_property
    def column_names(self) -> dict[str, tuple[str, ...]]:
        """The columns of each field, by its name."""
        return {
            field.name: tuple(column.name for column in field.storage.columns(field)) for field in self.fields
        }

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The columns that people read, in order."""
        found = {"id": Reading("id", ValueType.TEXT, ("id",))} if self.has_id else {}
        for field in self.fields:
            for reading in field.storage.readings(field):
                found[reading.name] = replace(reading, part=field.part)
        return tuple(found[name] for name in self.reading or found) if self.has_table else ()

    @cached_property
    def table_indexes(self) -> tuple[Index, ...]:
        return self.indexes or (Index(Method.TREE, ("cluster_id", self.time)),)


@dataclass(frozen=True, slots=True)
class As:
    """A column of the field's own name."""

    type: ColumnType
    limit: int = 0
    item: str = ""
    """of a JSON object: an item that people read as a column of its own"""

    def columns(self, field: Field) -> Iterator[Column]:
        least = 0 if field.type in (Type.COUNT, Type.REAL) and self.type is not ColumnType.REAL else None
        yield Column(field.name, self.type, limit=self.limit or field.type.limit, least=least)

    def readings(self, field: Field) -> Iterator[Reading]:
        if self.item:
            yield Reading(self.item, ValueType.TEXT, (field.name,), item=self.item)
        yield Reading(field.name, self.type.read_as, (field.name,))


@dataclass(frozen=True, slots=True)
class Label:
    """The number of a label. A text that is none of the labels is stored as `unknown`."""

    labels: tuple[str, ...]
    unknown: int = -1
    most: int = -1
    """the greatest number; by default that of the last label"""

    def columns(self, field: Field) -> Iterator[Column]:
        most = len(self.labels) - 1 if self.most < 0 else self.most
        least = 0 if field.type is Type.CODE else min(self.unknown, 0)
        yield Column(field.name, ColumnType.SMALLINT, least=least, most=most)

    def readings(self, field: Field) -> Iterator[Reading]:
        yield Reading(field.name, ValueType.TEXT, (field.name,), labels=self.labels)


@dataclass(frozen=True, slots=True)
class WorkerReference:
    """The lifetime of the worker whose address the field holds; null where there was none."""

    def columns(self, field: Field) -> Iterator[Column]:
        yield Column(f"{field.name}_id", ColumnType.REFERENCE, refers="worker", is_optional=True)

    def readings(self, field: Field) -> Iterator[Reading]:
        yield Reading(field.name, ValueType.TEXT, (f"{field.name}_id", "address"))
        yield Reading(f"{field.name}_name", ValueType.TEXT, (f"{field.name}_id", "name"))


@dataclass(frozen=True, slots=True)
class LaneReference:
    """The lane of the worker whose address the field holds and of the thread in the field `thread`."""

    def columns(self, field: Field) -> Iterator[Column]:
        yield Column("lane_id", ColumnType.REFERENCE, refers="lane")

    def readings(self, field: Field) -> Iterator[Reading]:
        worker = ("lane_id", "worker_id")
        yield Reading(field.name, ValueType.TEXT, (*worker, "address"))
        yield Reading(f"{field.name}_name", ValueType.TEXT, (*worker, "name"))
        yield Reading("thread", ValueType.INTEGER, ("lane_id", "thread"))
        yield Reading("lane", ValueType.INTEGER, ("lane_id", "position"))


@dataclass(frozen=True, slots=True)
class InOther:
    """Stored by the storage of another field."""

    def columns(self, field: Field) -> Iterator[Column]:
        yield from ()

    def readings(self, field: Field) -> Iterator[Reading]:
        yield from ()


@dataclass(frozen=True, slots=True)
class KeyReference:
    """A task's key: its group, and the rest of the key. People read the key, and its prefix and group."""

    has_prefix: bool = False
    """whether the prefix is a column of its own"""
    shows_group: bool = True

    def group(self, field: Field) -> str:
        return "group_id" if field.name == "key" else f"{field.name}_group_id"

    def rest(self, field: Field) -> str:
        return f"{field.name}_rest"

    def columns(self, field: Field) -> Iterator[Column]:
        if self.has_prefix:
            yield Column("prefix_id", ColumnType.REFERENCE, refers="prefix")
        yield Column(self.group(field), ColumnType.REFERENCE, refers="task_group")
        yield Column(self.rest(field), ColumnType.KEY, limit=MAXIMUM_KEY_LENGTH)

    def readings(self, field: Field) -> Iterator[Reading]:
        group = self.group(field)
        yield Reading(field.name, ValueType.TEXT, (self.rest(field),), group=group)
        if self.shows_group:
            yield Reading("prefix", ValueType.TEXT, (group, "prefix_id", "name"))
            yield Reading("group", ValueType.TEXT, (group, "name"))


@dataclass(frozen=True, slots=True)
class NameReference:
    """A name that is stored once a cluster, in `table`: task_group, prefix or typename."""

    table: str
    is_optional: bool = False
    """an empty name is null"""

    def columns(self, field: Field) -> Iterator[Column]:
        yield Column(
            f"{field.name}_id", ColumnType.REFERENCE, refers=self.table, is_optional=self.is_optional
        )

    def readings(self, field: Field) -> Iterator[Reading]:
        yield Reading(field.name, ValueType.TEXT, (f"{field.name}_id", "name"))


@dataclass(frozen=True, slots=True)
class StackReference:
    """A stack, which is stored once a cluster. People read its number."""

    def columns(self, field: Field) -> Iterator[Column]:
        yield Column(f"{field.name}_id", ColumnType.REFERENCE, refers="stack")

    def readings(self, field: Field) -> Iterator[Reading]:
        yield Reading(field.name, ValueType.INTEGER, (f"{field.name}_id",))


@dataclass(frozen=True, slots=True)
class SeriesReference:
    """A series: a metric, its labels and its worker, stored once a cluster."""

    types: tuple[str, ...]
    """labels of a series' type"""

    def columns(self, field: Field) -> Iterator[Column]:
        yield Column(f"{field.name}_id", ColumnType.REFERENCE, refers="series")

    def readings(self, field: Field) -> Iterator[Reading]:
        series = f"{field.name}_id"
        yield Reading("metric", ValueType.TEXT, (series, "metric"))
        yield Reading("labels", ValueType.JSON, (series, "labels"))
        yield Reading("worker", ValueType.TEXT, (series, "worker_id", "address"))
        yield Reading("worker_name", ValueType.TEXT, (series, "worker_id", "name"))
        yield Reading("type", ValueType.TEXT, (series, "type"), labels=self.types)


_USUAL: dict[Type, Storage] = {
    Type.TIME: As(ColumnType.TIME),
    Type.REAL: As(ColumnType.REAL),
    Type.COUNT: As(ColumnType.BIGINT),
    Type.INTEGER: As(ColumnType.INTEGER),
    Type.CODE: As(ColumnType.SMALLINT),
    Type.KEY: KeyReference(),
    Type.NAME: As(ColumnType.TEXT),
    Type.TEXT: As(ColumnType.TEXT),
    Type.LONG: As(ColumnType.TEXT),
    Type.JSON: As(ColumnType.JSON),
}

FOUND_BY_KEY = (
    # An index a column: of both together TimescaleDB would make a filter of their pairs, a byte a row
    Index(Method.BLOCKS, ("group_id",)),
    Index(Method.KEYS, ("key_rest",)),
)
"""indexes that find the records of one task"""
