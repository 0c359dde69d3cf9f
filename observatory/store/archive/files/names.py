"""The names of the rows that records refer to: files of the archive have them in place of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import sql

Path = tuple[str, ...]
"""columns to follow from a row, as in wire.columns.Reading; the last one has the value"""


@dataclass(frozen=True, slots=True)
class Named:
    """A table that records refer to, with the tables that it refers to itself."""

    joined: LiteralString
    values: Mapping[Path, LiteralString]
    """SQL by path"""


_WORKER: dict[Path, LiteralString] = {
    ("worker_id", "address"): "worker.address",
    ("worker_id", "name"): "worker.name",
    ("worker_id", "position"): "worker.position",
}
TABLES: dict[str, Named] = {
    "worker": Named("worker", {path[1:]: value for path, value in _WORKER.items()}),
    "lane": Named(
        "lane JOIN worker ON worker.id = lane.worker_id",
        {("thread",): "lane.thread", ("position",): "lane.position", **_WORKER},
    ),
    "prefix": Named("prefix", {("name",): "prefix.name"}),
    "task_group": Named(
        "task_group JOIN prefix ON prefix.id = task_group.prefix_id",
        {("name",): "task_group.name", ("prefix_id", "name"): "prefix.name"},
    ),
    "typename": Named("typename", {("name",): "typename.name"}),
    "series": Named(
        "series LEFT JOIN worker ON worker.id = series.worker_id",
        {
            ("metric",): "series.metric",
            ("labels",): "series.labels::text",
            ("type",): "series.type",
            **_WORKER,
        },
    ),
    "stack": Named("stack", {("identity",): "stack.identity::text"}),
}
"""each table that a declared kind refers to"""


def read_names(
    connection: psycopg.Connection, table: str, ids: Iterable[int], paths: Sequence[Path]
) -> tuple[list[int], list[tuple[Any, ...]]]:
    """The ids of the rows that are there, and for each path their values."""
    named = TABLES[table]
    query = sql.SQL("SELECT {}.id, {} FROM {} WHERE {}.id = ANY(%s)").format(
        sql.Identifier(table),
        sql.SQL(", ").join(sql.SQL(named.values[path]) for path in paths),
        sql.SQL(named.joined),
        sql.Identifier(table),
    )
    rows = connection.execute(query, [list(ids)], binary=True).fetchall()
    found, *values = zip(*rows, strict=True) if rows else ((), *[()] * len(paths))
    return list(found), list(values)
