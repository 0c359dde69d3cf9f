"""Stores an extract (extracts.py) as a new cluster: row by row as it was, with ids of this database.

The rows come from a file and are not trusted: numbers are checked against their limits, references have to
lead to a row of the file, texts are cleaned.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import sql

from observatory.store.dask_names import color_of
from observatory.store.engines import choose
from observatory.store.ingest.interning.stacks import identity
from observatory.store.keys import GROUP_PLACEHOLDER
from observatory.store.outages.free_space import require_free_space
from observatory.store.queries.extents import SETTLING
from observatory.store.schema.dimensions import REFERRED, Table
from observatory.store.schema.time_series import table_of
from observatory.store.series.identity import series_identity
from observatory.store.texts import clean_json
from observatory.store.times import from_seconds
from observatory.wire.blocks import Block
from observatory.wire.columns import BOUNDS, Column, ColumnType
from observatory.wire.records import Action, clean_key, clean_text, is_time

MOST_DAYS = 400
"""with records of one cluster: each day needs its own partitions"""
MOST_PARTITIONS = 2_000
"""of all tables"""
MOST_NAMED = 2_000_000
"""rows of a table that others refer to"""

Values = dict[str, list[Any]]


class LoadError(ValueError):
    """Rows that cannot be stored; the message says which and why."""


class Loader:
    """Stores tables, in the order of extract_tables.tables(), inside of a transaction on `connection`.

    `preparing` is another connection: partitions are made outside of that transaction.
    """

    def __init__(self, connection: psycopg.Connection, preparing: psycopg.Connection, cluster: int) -> None:
        self.connection = connection
        self.preparing = preparing
        self.cluster = cluster
        self._engine = choose(preparing)
        self._days: set[date] = set()
        self._partitions: set[tuple[str, date]] = set()
        self._ids: dict[str, dict[int, int]] = {table.name: {0: 0} for table in REFERRED}
        """ids of this database by those in the file"""
        self.first, self.last = float("inf"), 0.0
        self.spans = self.tasks = self.errors = 0

    def load(self, table: Table, block: Block) -> None:
        """Stores the rows of a block. Raises LoadError."""
        if not block.rows:
            return
        values = {column.name: self._values(table, column, block) for column in table.columns}
        try:
            if table.time:
                self._prepare(table, values[table.time])
                self._count(table, values)
            else:
                values |= self._named(table, values)
            self._copy(table.name, block.rows, values, {column.name: column for column in table.columns})
        except (psycopg.errors.IntegrityError, psycopg.errors.DataError) as error:
            reason = str(error.diag.message_primary)
            raise LoadError(f"the rows of {table.name} cannot be stored: {reason}") from None

    def ids(self, table: str) -> dict[int, int]:
        """Of the loaded rows of a table, by their ids in the file."""
        return self._ids[table]

    def close(self, stop: float, has_agent: bool) -> None:
        """Stores the extent of the cluster, whose records end before `stop` (seconds)."""
        first, last = (self.first, self.last) if self.last else (0.0, 0.0)
        self.connection.execute(
            """INSERT INTO extent
                   (cluster_id, first, last, committed, sequence, spans, tasks, errors, workers)
               VALUES (%(cluster)s, to_timestamp(%(first)s), to_timestamp(%(last)s),
                   to_timestamp(%(committed)s), 1, %(spans)s, %(tasks)s, %(errors)s, %(workers)s)""",
            {
                "cluster": self.cluster,
                "first": first,
                "last": last,
                # no records follow: all tiles of it are closed
                "committed": max(last, stop) + 2 * SETTLING,
                "spans": self.spans,
                "tasks": self.tasks,
                "errors": self.errors,
                "workers": len(self._ids["worker"]) - 1,
            },
        )
        if has_agent:
            self.connection.execute(
                """INSERT INTO agent (id, cluster_id, sequence, is_joint, since, last)
                   VALUES (%s, %s, 0, false, to_timestamp(%s), to_timestamp(%s))""",
                [uuid.uuid4(), self.cluster, first, last],
            )

    def _values(self, table: Table, column: Column, block: Block) -> list[Any]:
        found = block.columns.get(column.name)
        if found is None and column.may_lack:
            return [""] * block.rows
        if found is None or found.type != column.type.block:
            raise LoadError(f"{table.name} has no column {column.name} of type {column.type.block}")
        where = f"{table.name}.{column.name}"
        if found.values is not None:
            clean = CLEAN[column.type]
            try:
                texts = [clean(text, column.limit) for text in found.values]
            except (ValueError, RecursionError):
                raise LoadError(f"{where} holds what is no {column.type.label}") from None
            return [texts[index] for index in np.frombuffer(found.data, "<u4").tolist()]
        numbers = np.frombuffer(found.data, NUMPY[found.type])
        if column.name != "id" and column.refers:
            return self._referred(where, column, numbers.tolist())
        if column.type is ColumnType.TIME:
            return self._times(where, column, numbers)
        if column.type in BOUNDS:
            least, most = column.bounds
            outside = (numbers < least) | (numbers > most)
            if outside.any():
                number = int(numbers[np.argmax(outside)])
                raise LoadError(f"{where} is {number} in a row: it goes from {least} to {most}")
        return list(numbers.tolist())

    def _referred(self, where: str, column: Column, references: Sequence[int]) -> list[Any]:
        ids = self._ids[column.refers]
        missing = set(references) - ids.keys()
        if missing or (not column.is_optional and 0 in references):
            named = min(missing, default=0)
            raise LoadError(f"{where} refers to {column.refers} {named}, which the file hasn't")
        return [ids[reference] or None for reference in references]

    def _times(self, where: str, column: Column, seconds: npt.NDArray[np.float64]) -> list[datetime | None]:
        times: list[datetime | None] = []
        for value in seconds.tolist():
            if value == 0 and column.is_optional:
                times.append(None)
            elif is_time(value):
                times.append(from_seconds(value))
            else:
                raise LoadError(f"{where} is {value} in a row: that is no time between 2000 and 2100")
        return times

    def _prepare(self, table: Table, times: Sequence[datetime]) -> None:
        days = {time.date() for time in times}
        self._days |= days
        self._partitions |= {(table.name, day) for day in days}
        if len(self._days) > MOST_DAYS or len(self._partitions) > MOST_PARTITIONS:
            raise LoadError(f"its records lie on more than {MOST_DAYS} days, or need too many partitions")
        self._engine.prepare(self.preparing, table_of(table.name), sorted(days))

    def _count(self, table: Table, values: Values) -> None:
        starts, stops = values[table.time], values[table.stop or table.time]
        if table.stop and any(start > stop for start, stop in zip(starts, stops, strict=True)):
            raise LoadError(f"a row of {table.name} stops before its start")
        self.first = min(self.first, min(starts).timestamp())
        self.last = max(self.last, max(stops).timestamp())
        if table.name == "span":
            self.spans += len(starts)
            self.tasks += values["action"].count(Action.COMPUTE)
        elif table.name == "error":
            self.errors += sum(outcome != "retried" for outcome in values["outcome"])
        elif table.name == "event":
            counts = (json.loads(detail).get("count") for detail in _of_kind(values, "tasks-erred"))
            self.errors += sum(count for count in counts if isinstance(count, int) and 0 <= count < 2**31)

    def _named(self, table: Table, values: Values) -> Values:
        """Gives the rows new ids; returns these as a column, and the columns that the file lacks."""
        known, given = self._ids[table.name], values["id"]
        if len(known) + len(given) > MOST_NAMED:
            raise LoadError(f"there are more than {MOST_NAMED} rows of {table.name}")
        if min(given) < 1 or len(set(given)) < len(given) or not known.keys().isdisjoint(given):
            raise LoadError(f"an id of {table.name} is there twice, or none")
        before = len(known) - 1
        ids = self._new_ids(table.name, len(given))
        known.update(zip(given, ids, strict=True))
        return {"id": ids, **DERIVED.get(table.name, _nothing)(values, before)}

    def _new_ids(self, table: str, count: int) -> list[int]:
        rows = self.connection.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, count]
        )
        return [id for (id,) in rows]

    def _copy(self, table: str, rows: int, values: Values, columns: dict[str, Column]) -> None:
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, ["cluster_id", *values]))
        )
        require_free_space()
        with self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in zip([self.cluster] * rows, *values.values(), strict=True):
                copy.write_row(row)


def new_cluster_id(connection: psycopg.Connection) -> int:
    """The id of a cluster whose records are stored before it is made."""
    row = connection.execute("SELECT nextval(pg_get_serial_sequence('clusters_cluster', 'id'))").fetchone()
    return int(row[0]) if row else 0


def _of_kind(values: Values, kind: str) -> list[str]:
    return [detail for found, detail in zip(values["kind"], values["detail"], strict=True) if found == kind]


def _key(rest: str, limit: int) -> str:
    return GROUP_PLACEHOLDER.join(map(clean_key, rest.split(GROUP_PLACEHOLDER, 1)))


def _object(text: str, limit: int) -> str:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return clean_json(value)


def _json(text: str, limit: int) -> str:
    value = json.loads(text)
    if not isinstance(value, dict | list):
        raise ValueError("neither an object nor a list")
    return clean_json(value)


CLEAN: dict[ColumnType, Callable[[str, int], Any]] = {
    ColumnType.TEXT: clean_text,
    ColumnType.KEY: _key,
    ColumnType.OBJECT: _object,
    ColumnType.JSON: _json,
    ColumnType.UUID: lambda text, limit: uuid.UUID(text),
}
NUMPY = {"f64": "<f8", "i32": "<i4", "i64": "<i8"}


def _nothing(values: Values, before: int) -> Values:
    return {}


def _of_workers(values: Values, before: int) -> Values:
    return {"position": list(range(before, before + len(values["id"])))}


def _of_prefixes(values: Values, before: int) -> Values:
    return {"color": list(map(color_of, values["name"]))}


def _of_series(values: Values, before: int) -> Values:
    rows = zip(values["worker_id"], values["metric"], values["labels"], strict=True)
    return {"identity": [series_identity(worker or 0, metric, labels) for worker, metric, labels in rows]}


def _of_stacks(values: Values, before: int) -> Values:
    return {"identity": list(map(identity, values["frames"]))}


DERIVED: dict[str, Callable[[Values, int], Values]] = {
    "worker": _of_workers,
    "prefix": _of_prefixes,
    "series": _of_series,
    "stack": _of_stacks,
}
