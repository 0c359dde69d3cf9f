"""Turns rows of files into rows of their tables: the names in them get back the ids that they had."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, LiteralString

import psycopg
import pyarrow as pa

from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files.columns import TYPES, FileColumn, file_columns
from observatory.store.keys import encode_keys
from observatory.wire.columns import Column
from observatory.wire.kind import Kind

UNKNOWN = -1
"""the number that was stored for a label which is none of the known ones"""
CLUSTER = "cluster_id"


class Ids:
    """The ids of what the records of a cluster refer to, by the names that files have."""

    def __init__(self, connection: psycopg.Connection, cluster: int) -> None:
        self._connection = connection
        self.cluster = cluster

    def of(self, table: str, names: Sequence[tuple[Any, ...]]) -> list[int | None]:
        """The id of each row of a table. Raises ArchiveError if one is not there any more."""
        known = self._find[table](names)
        try:
            return [known[name] if name[-1] is not None else None for name in names]
        except KeyError as error:
            missing = " ".join(map(str, error.args[0]))
            raise ArchiveError(
                f"The archive has records of {table} {missing[:200]!r}, which cluster {self.cluster} has not."
            ) from None

    @property
    def _find(self) -> dict[str, Callable[[Sequence[tuple[Any, ...]]], dict[Hashable, int]]]:
        return {
            "worker": lambda names: self._workers,
            "lane": lambda names: self._lanes,
            "series": self._series,
            "stack": lambda names: self._by_text("stack", "identity", names),
            **{table: self._by_name(table) for table in ("prefix", "task_group", "typename")},
        }

    def _by_name(self, table: LiteralString) -> Callable[[Sequence[tuple[Any, ...]]], dict[Hashable, int]]:
        return lambda names: self._by_text(table, "name", names)

    def _by_text(
        self, table: LiteralString, column: LiteralString, names: Iterable[tuple[Any, ...]]
    ) -> dict[Hashable, int]:
        type: LiteralString = "uuid" if table == "stack" else "text"
        return self._read(
            f"SELECT {column}::text, id FROM {table} WHERE cluster_id = %s AND {column} = ANY(%s::{type}[])",
            [name for (name,) in set(names) if name is not None],
        )

    @cached_property
    def _workers(self) -> dict[Hashable, int]:
        return self._read("SELECT position, id FROM worker WHERE cluster_id = %s")

    @cached_property
    def _lanes(self) -> dict[Hashable, int]:
        return self._read(
            """SELECT worker.position, thread, lane.id FROM lane JOIN worker ON worker.id = worker_id
               WHERE lane.cluster_id = %s"""
        )

    def _series(self, names: Iterable[tuple[Any, ...]]) -> dict[Hashable, int]:
        return self._read(
            """SELECT worker.position, metric, labels::text, series.id
               FROM series LEFT JOIN worker ON worker.id = worker_id
               WHERE series.cluster_id = %s AND metric = ANY(%s)""",
            list({metric for _, metric, _ in names}),
        )

    def _read(self, query: LiteralString, *parameters: Any) -> dict[Hashable, int]:
        rows = self._connection.execute(query, [self.cluster, *parameters], binary=True)
        return {tuple(name): id for *name, id in rows}


PATHS: dict[str, tuple[tuple[str, ...], ...]] = {
    "worker": (("position",),),
    "lane": (("worker_id", "position"), ("thread",)),
    "series": (("worker_id", "position"), ("metric",), ("labels",)),
    "stack": (("identity",),),
    "prefix": (("name",),),
    "task_group": (("name",),),
    "typename": (("name",),),
}
"""the names by which a row of each table is found; the last one is missing where there is none"""


def missing_columns(kind: Kind, names: Iterable[str]) -> list[str]:
    """The columns without which files of a kind, such as older ones, can't become rows again."""
    return sorted({column.name for column in file_columns(kind)} - set(names))


def with_ids(kind: Kind, ids: Ids, rows: pa.Table) -> pa.Table:
    """The rows as the table has them, in order of time."""
    rows = rows.sort_by(kind.time)
    of_file = file_columns(kind)
    arrays = {column.name: _values(column, of_file, ids, rows) for column in kind.columns}
    return pa.table({**arrays, CLUSTER: pa.array([ids.cluster] * rows.num_rows, pa.int32())})


def _values(
    column: Column, of_file: Sequence[FileColumn], ids: Ids, rows: pa.Table
) -> pa.Array | pa.ChunkedArray:
    sources = {each.path: each for each in of_file if each.source == column.name}
    if column.refers:
        names = [rows.column(sources[path].name).to_pylist() for path in PATHS[column.refers]]
        return pa.array(ids.of(column.refers, list(zip(*names, strict=True))), pa.int32())
    source = sources[()]
    values = rows.column(source.name)
    if source.labels:
        numbers = {label: number for number, label in enumerate(source.labels)}
        return pa.array(
            [numbers.get(label, UNKNOWN) for label in values.to_pylist()], TYPES.get(column.type, pa.int16())
        )
    if source.group:
        [group] = (each.name for each in of_file if each.source == source.group and each.path == ("name",))
        return pa.array(encode_keys(values.to_pylist(), rows.column(group).to_pylist()), pa.string())
    return values
