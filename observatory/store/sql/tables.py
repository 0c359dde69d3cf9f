"""The tables of SQL: stable names and columns, with names in place of ids (docs/sql.md)."""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import dataclass
from functools import cache
from typing import LiteralString

import psycopg
import pyarrow as pa
from psycopg.sql import SQL

from observatory.store.archive.files.columns import TIME, file_columns
from observatory.store.archive.files.tables import OTHER_TABLES
from observatory.wire.kind import Kind
from observatory.wire.kinds import stored_kinds

TEXT = pa.string()
OF_CLUSTER: dict[str, pa.DataType] = {"project": TEXT, "cluster": TEXT}
"""the first columns of each table: the project's short name and the scheduler's id"""
ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table by the name that queries know, and the columns of its rows."""

    name: str
    meaning: str
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class RecordTable(SqlTable):
    """The records of a kind."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class StoredTable(SqlTable):
    """Rows that the archive doesn't replace."""

    select: LiteralString
    """from tables of which `cluster` and `project` are the cluster's and its project's"""
    order: LiteralString

    def read(self, connection: psycopg.Connection, clusters: Collection[int]) -> Generator[pa.Table]:
        """The rows in pieces; needs a transaction."""
        with connection.cursor(name="sql", binary=True) as cursor:
            cursor.itersize = ROWS_AT_ONCE
            cursor.execute(
                SQL("{} WHERE cluster.id = ANY(%s) ORDER BY {}").format(SQL(self.select), SQL(self.order)),
                [list(clusters)],
            )
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                columns = zip(zip(*rows, strict=True), self.schema, strict=True)
                arrays = [pa.array(values, field.type) for values, field in columns]
                yield pa.Table.from_arrays(arrays, schema=self.schema)


def schema_of(columns: dict[str, pa.DataType]) -> pa.Schema:
    """With those of the cluster before them."""
    return pa.schema([*OF_CLUSTER.items(), *columns.items()])


@cache
def record_tables() -> tuple[RecordTable, ...]:
    """A table for each kind of records."""
    return tuple(
        RecordTable(
            _plural(kind.name),
            kind.meaning,
            schema_of({column.name: column.type for column in file_columns(kind)}),
            kind,
        )
        for kind in stored_kinds()
    )


def _plural(name: str) -> str:
    if name.endswith("performance"):
        return name
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


_WORKER = next(table for table in OTHER_TABLES if table.name == "worker")
_CLUSTER_COLUMNS = {
    "id": pa.int64(),
    "name": TEXT,
    "address": TEXT,
    "started": TIME,
    "ended": TIME,
    "end_reason": TEXT,
    "first": TIME,
    "last": TIME,
    "spans": pa.int64(),
    "tasks": pa.int64(),
    "errors": pa.int64(),
    "workers": pa.int64(),
}
STORED_TABLES = (
    StoredTable(
        "clusters",
        "clusters: `id` is the number in URLs, `first` and `last` are the times of its records",
        schema_of(_CLUSTER_COLUMNS),
        """SELECT project.slug, scheduler_id, cluster.id, cluster.name, cluster.address, cluster.started,
               cluster.ended, cluster.end_reason, first, last, spans, tasks, errors, workers
           FROM clusters_cluster cluster JOIN clusters_project project ON project.id = project_id
           LEFT JOIN extent ON cluster_id = cluster.id""",
        "cluster.started",
    ),
    StoredTable(
        "workers",
        _WORKER.meaning,
        schema_of({name: type for name, type in _WORKER.columns.items() if name != "id"}),
        """SELECT project.slug, scheduler_id, position, worker.address, worker.name, host, nthreads,
               memory_limit, resources::text, detail::text, worker.started, worker.ended, worker.end_reason,
               worker.status
           FROM worker JOIN clusters_cluster cluster ON cluster.id = cluster_id
           JOIN clusters_project project ON project.id = project_id""",
        "cluster_id, position",
    ),
    StoredTable(
        "stacks",
        "stacks of profiles: a line for each frame, outermost first: name, file, line, tab-separated",
        schema_of({"stack": TEXT, "frames": TEXT}),
        """SELECT project.slug, scheduler_id, identity::text, frames
           FROM stack JOIN clusters_cluster cluster ON cluster.id = cluster_id
           JOIN clusters_project project ON project.id = project_id""",
        "cluster_id, stack.id",
    ),
)
