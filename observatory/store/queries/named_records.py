"""Reads records as people see them, with names in place of ids: what exports and the API of records give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

import psycopg

from observatory.store.archive.scans.conditions import Condition, OneOf
from observatory.store.queries.joins import Joins
from observatory.store.reading.scanning import parts, scanned
from observatory.store.schema.dimensions import REFERRED
from observatory.store.times import EPOCH, from_microseconds
from observatory.wire.columns import Column, ColumnType, Reading, ValueType
from observatory.wire.kind import Kind
from observatory.wire.kinds import stored_kinds

ROWS_AT_ONCE = 20_000
"""that `read` holds in memory"""
Row = tuple[Any, ...]
Mark = tuple[datetime, int]
"""the time of the last row that was read, and the number of rows of that time that were read"""
EPOCH_SQL = "timestamptz '1970-01-01 00:00+00'"


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column that people read, as SQL."""

    type: ValueType
    sql: str
    part: str = ""
    """as wire.columns.Column.part"""


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of record as people read it."""

    name: str
    columns: Mapping[str, ReadColumn]
    order: str
    """the time that rows are in order of"""
    condition: str
    """which rows belong to the window from %(start)s to %(stop)s"""
    joins: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""

    def types(self, names: Sequence[str]) -> dict[str, ValueType]:
        return {name: self.columns[name].type for name in names}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows in which a column of texts has one of some values."""

    column: str
    values: Sequence[str]


def record_kinds() -> dict[str, RecordKind]:
    """Every kind of record by name: the declared ones that have a table, workers and stacks."""
    found = {"worker": WORKER, "stack": STACK, **{kind.name: _record_kind(kind) for kind in stored_kinds()}}
    return dict(sorted(found.items()))


def read(
    connection: psycopg.Connection,
    kind: RecordKind,
    cluster: int,
    start: int,
    stop: int,
    columns: Sequence[str],
    wanted: Wanted | None = None,
) -> Iterator[list[Row]]:
    """The rows of the window [start, stop) (microseconds) in order of time, some thousands at once.

    Archived ones are read in their files, and not brought back. Needs a transaction. A row begins with its
    time (the epoch where the kind has none), `columns` follow.
    """
    parameters = _parameters(kind, cluster, start, stop, wanted)
    query = _query(kind, columns, wanted)
    declared = _declared(kind)
    if declared is None:
        # the stacks of a window's profiles, and others that refer to no records
        profiles = {"profile": Condition((), from_microseconds(start), from_microseconds(stop))}
        with scanned(connection, cluster, profiles if kind is STACK else {}):
            yield from _read(connection, f"{query} ORDER BY 1", parameters)
        return
    query = f"{query} AND {kind.order} >= %(since)s AND {kind.order} < %(until)s ORDER BY 1"
    condition = scanned_conditions(kind, start, stop, wanted).get(kind.name) or _within(declared, start, stop)
    for since, until in parts(connection, cluster, kind.name, condition, from_microseconds(stop)):
        yield from _read(connection, query, {**parameters, "since": since, "until": until})


def _read(connection: psycopg.Connection, query: str, parameters: Mapping[str, Any]) -> Iterator[list[Row]]:
    with connection.cursor(name="records", binary=True) as cursor:
        cursor.execute(query, parameters)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield rows


def page(
    connection: psycopg.Connection,
    kind: RecordKind,
    cluster: int,
    start: int,
    stop: int,
    columns: Sequence[str],
    limit: int,
    mark: Mark | None = None,
    wanted: Wanted | None = None,
) -> tuple[list[Row], Mark | None]:
    """At most `limit` rows as `read` gives them, after the mark, and a mark to go on from if there are more.

    Rows of one time are in the order of their hashes: rows with the same hash are the same in all columns.
    """
    after, skip = mark or (EPOCH, 0)
    rows = connection.execute(
        f"""{_query(kind, columns, wanted)} AND {kind.order} >= %(after)s
            ORDER BY 1, hash_record_extended({kind.name}.*, 0) OFFSET %(skip)s LIMIT %(limit)s""",
        {
            **_parameters(kind, cluster, start, stop, wanted),
            "after": after,
            "skip": skip,
            "limit": limit + 1,
        },
        binary=True,
    ).fetchall()
    if len(rows) <= limit:
        return rows, None
    rows.pop()
    last = rows[-1][0]
    return rows, (last, sum(row[0] == last for row in rows) + (skip if last == after else 0))


def scanned_conditions(
    kind: RecordKind, start: int, stop: int, wanted: Wanted | None
) -> dict[str, Condition]:
    """What a scan of archived rows looks for, by kind; empty where that would be all of the window."""
    declared = _declared(kind)
    # a text that is empty can be missing in files
    if wanted is None or declared is None or "" in wanted.values:
        return {}
    if wanted.column not in {reading.name for reading in declared.readings if not reading.item}:
        return {}
    test = OneOf((wanted.column,), frozenset(wanted.values))
    return {kind.name: replace(_within(declared, start, stop), tests=(test,))}


def _declared(kind: RecordKind) -> Kind | None:
    """None for workers and stacks."""
    return {each.name: each for each in stored_kinds()}.get(kind.name)


def _within(declared: Kind, start: int, stop: int) -> Condition:
    """Of rows of files that can be of a window: one that began before it can last into it."""
    since = None if declared.stop else from_microseconds(start)
    return Condition((), since, from_microseconds(stop))


def _query(kind: RecordKind, columns: Sequence[str], wanted: Wanted | None) -> str:
    selected = ", ".join([kind.columns[name].sql for name in columns])
    condition = kind.condition
    if wanted is not None:
        condition += f" AND {kind.columns[wanted.column].sql} = ANY(%(wanted)s)"
    return f"""SELECT {kind.order}, {selected} FROM {kind.name} {kind.joins}
        WHERE {kind.name}.cluster_id = %(cluster)s AND {condition}"""


def _parameters(
    kind: RecordKind, cluster: int, start: int, stop: int, wanted: Wanted | None
) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "start": from_microseconds(start),
        "stop": from_microseconds(stop),
        "wanted": list(wanted.values) if wanted else None,
        **kind.parameters,
    }


@cache
def _record_kind(kind: Kind) -> RecordKind:
    """The SQL of a declared kind."""
    table, time = kind.name, f"{kind.name}.{kind.time}"
    joins = Joins(table, kind.columns)
    if kind.stop:
        condition = f"{time} < %(stop)s AND {table}.{kind.stop} > %(start)s"
    else:
        condition = f"{time} >= %(start)s AND {time} < %(stop)s"
    return RecordKind(
        name=table,
        columns={reading.name: _column(reading, joins) for reading in kind.readings},
        order=time,
        condition=condition,
        joins=joins.sql,
        parameters={_labels_of(reading): list(reading.labels) for reading in kind.readings if reading.labels},
        part=kind.part,
    )


def _labels_of(reading: Reading) -> str:
    return f"labels_of_{reading.name}"


def _column(reading: Reading, joins: Joins) -> ReadColumn:
    value, column, is_optional = joins.reach(reading.path)
    return ReadColumn(reading.type, _sql(reading, value, column, is_optional, joins), reading.part)


def _sql(reading: Reading, value: str, column: Column, is_optional: bool, joins: Joins) -> str:
    if reading.labels:
        return f"coalesce((%({_labels_of(reading)})s::text[])[{value} + 1], 'unknown')"
    if reading.group:
        group, *_ = joins.reach((reading.group, "name"))
        return f"replace({value}, U&'\\0001', {group})"
    if reading.item:
        return f"coalesce({value}->>'{reading.item}', '')"
    if reading.type is ValueType.INTEGER:
        return f"({value})::bigint"
    if reading.type is ValueType.JSON or column.type is ColumnType.UUID:
        return f"({value})::text"
    if reading.type is ValueType.TEXT and is_optional:
        return f"coalesce({value}, '')"
    return value


def _of_table(name: str, readings: Mapping[str, ValueType]) -> dict[str, ReadColumn]:
    [table] = [table for table in REFERRED if table.name == name]
    joins = Joins(name, table.columns)
    return {column: _column(Reading(column, type, (column,)), joins) for column, type in readings.items()}


WORKER = RecordKind(
    name="worker",
    columns=_of_table(
        "worker",
        {
            "address": ValueType.TEXT,
            "name": ValueType.TEXT,
            "host": ValueType.TEXT,
            "nthreads": ValueType.INTEGER,
            "memory_limit": ValueType.INTEGER,
            "started": ValueType.TIME,
            "ended": ValueType.TIME,
            "end_reason": ValueType.TEXT,
            "status": ValueType.TEXT,
            "resources": ValueType.JSON,
            "detail": ValueType.JSON,
        },
    ),
    order="worker.started",
    condition="worker.started < %(stop)s AND (worker.ended IS NULL OR worker.ended > %(start)s)",
)
STACK = RecordKind(
    name="stack",
    columns={
        "stack": ReadColumn(ValueType.INTEGER, "stack.id::bigint"),
        "frames": ReadColumn(ValueType.TEXT, "stack.frames"),
    },
    order=EPOCH_SQL,
    condition="""stack.id IN (SELECT stack_id FROM profile WHERE profile.cluster_id = %(cluster)s
        AND profile.time >= %(start)s AND profile.time < %(stop)s)""",
    part="code",
)
