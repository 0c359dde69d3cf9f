"""Reads a window of a cluster row by row, for a file that another Observatory can store as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

import psycopg
from psycopg import sql

from observatory.store.archive.scans.conditions import Condition
from observatory.store.reading.scanning import parts
from observatory.store.schema.dimensions import REFERRED, Table
from observatory.store.transfer.extract_tables import has_long_texts, record_tables
from observatory.wire.blocks import Block, number_column, text_column
from observatory.wire.blocks import Column as BlockColumn
from observatory.wire.columns import Column, ColumnType

MOST_ROWS = 100_000
"""in a block"""
MOST_TEXT = 4_000_000
"""characters after which a block is complete: readers accept it even if all are escaped"""
FETCHED, FETCHED_LONG = 10_000, 500
"""rows per fetch; the second for tables with long texts"""

Row = tuple[Any, ...]

PART = "{0} >= %(since)s AND {0} < %(until)s"
OVERLAPS = "started < %(stop)s AND (ended IS NULL OR ended > %(start)s)"
ENDED = "CASE WHEN ended < %(stop)s THEN extract(epoch FROM ended)::float8 ELSE 0 END"
REASON = "CASE WHEN ended < %(stop)s THEN end_reason ELSE '' END"
STATUS = "CASE WHEN ended >= %(stop)s THEN 'running' ELSE status END"
OF_WORKERS = {"ended": ENDED, "end_reason": REASON, "status": STATUS}
"""the end of a worker after the window is left out"""


@dataclass(slots=True)
class Extract:
    """Reads the window [start, stop) of a cluster; use it in one snapshot (timeline.snapshot).

    The records come first, then the rows of other tables that they refer to, and the workers of that time.
    """

    connection: psycopg.Connection
    cluster: int
    start: datetime
    stop: datetime
    without: frozenset[str] = frozenset()
    """tables that are left out"""
    emptied: frozenset[tuple[str, str]] = frozenset()
    """(table, column) of texts that are left out"""
    _wanted: dict[str, set[int]] = field(default_factory=dict)
    """ids by table"""

    def tables(self) -> list[Table]:
        """The tables in the order in which they have to be read."""
        return [table for table in (*record_tables(), *reversed(REFERRED)) if table.name not in self.without]

    def read(self, table: Table) -> Iterator[Block]:
        """The table's rows in blocks."""
        names = [column.name for column in table.columns]
        for rows in _blocks(self._rows(table)):
            values = dict(zip(names, zip(*rows, strict=True), strict=True))
            for column in table.columns:
                if column.refers:
                    self._wanted.setdefault(column.refers, set()).update(set(values[column.name]) - {0})
                if (table.name, column.name) in self.emptied:
                    values[column.name] = ("",) * len(rows)
            columns = [_block_column(column, values[column.name]) for column in table.columns]
            yield Block(table.name, len(rows), {column.name: column for column in columns})

    def _rows(self, table: Table) -> Iterator[list[Row]]:
        parameters = {
            "cluster": self.cluster,
            "start": self.start,
            "stop": self.stop,
            "ids": sorted(self._wanted.get(table.name, ())),
        }
        if not table.time:
            yield from self._fetched(table, parameters)
            return
        # archived rows are read from their files; one that began before the window can last into it
        condition = Condition((), None if table.stop else self.start, self.stop)
        for since, until in parts(self.connection, self.cluster, table.name, condition, self.stop):
            yield from self._fetched(table, {**parameters, "since": since, "until": until})

    def _fetched(self, table: Table, parameters: dict[str, Any]) -> Iterator[list[Row]]:
        fetched = FETCHED_LONG if has_long_texts(table) else FETCHED
        with self.connection.cursor(name="extract", binary=True) as cursor:
            cursor.execute(_query(table), parameters)
            while rows := cursor.fetchmany(fetched):
                yield rows


def _query(table: Table) -> sql.Composed:
    columns = sql.SQL(", ").join(_read(table, column) for column in table.columns)
    if table.stop:
        condition, order = f"start < %(stop)s AND stop > %(start)s AND {PART.format('start')}", "start"
    elif table.time:
        condition, order = f"time >= %(start)s AND time < %(stop)s AND {PART.format('time')}", "time"
    elif table.name == "worker":
        condition, order = f"(id = ANY(%(ids)s) OR {OVERLAPS})", "position"
    else:
        condition, order = "id = ANY(%(ids)s)", "id"
    return sql.SQL("SELECT {} FROM {} WHERE cluster_id = %(cluster)s AND {} ORDER BY {}").format(
        columns, sql.Identifier(table.name), sql.SQL(condition), sql.Identifier(order)
    )


def _read(table: Table, column: Column) -> sql.Composed | sql.SQL:
    if table.name == "worker" and column.name in OF_WORKERS:
        return sql.SQL(OF_WORKERS[column.name])
    name = sql.Identifier(column.name)
    if column.type is ColumnType.TIME:
        return sql.SQL("extract(epoch FROM {})::float8").format(name)
    if column.type in (ColumnType.OBJECT, ColumnType.JSON, ColumnType.UUID):
        return sql.SQL("{}::text").format(name)
    return sql.SQL("coalesce({}, 0)").format(name) if column.is_optional else sql.Composed([name])


def _blocks(fetched: Iterable[list[Row]]) -> Iterator[list[Row]]:
    """The rows, at most MOST_ROWS at a time, fewer if their texts are long."""
    rows: list[Row] = []
    text = 0
    for row in chain.from_iterable(fetched):
        rows.append(row)
        text += sum([len(value) for value in row if type(value) is str])
        if len(rows) >= MOST_ROWS or text >= MOST_TEXT:
            yield rows
            rows, text = [], 0
    if rows:
        yield rows


def _block_column(column: Column, values: Iterable[Any]) -> BlockColumn:
    if column.type.block == "text":
        return text_column(column.name, values)
    return number_column(column.name, column.type.block, values)
