"""Connections of readers: before a query of records, archived rows that it needs come back into its tables.

The kinds are those that the query names, the clusters those of its parameter `cluster` or `clusters`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import Params, Query
from psycopg.rows import TupleRow

from observatory.wire.kinds import stored_kinds

REMEMBERED_QUERIES = 2_000


class UnknownCluster(LookupError):
    """A query of records does not say of which clusters."""


class _Cursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Params | None = None, **options: Any) -> _Cursor:
        _require(self.connection, query, params)
        return super().execute(query, params, **options)

    @contextmanager
    def copy(
        self, statement: Query, params: Params | None = None, *, writer: Any = None
    ) -> Iterator[psycopg.Copy]:
        _require(self.connection, statement, params)
        with super().copy(statement, params, writer=writer) as copy:
            yield copy


class _ServerCursor(psycopg.ServerCursor[Any]):
    def execute(self, query: Any, params: Params | None = None, **options: Any) -> _ServerCursor:
        _require(self.connection, query, params)
        return super().execute(query, params, **options)


class ReadingConnection(psycopg.Connection[TupleRow]):
    """A connection whose queries find archived rows as well."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cursor_factory = _Cursor
        self.server_cursor_factory = _ServerCursor
        self.scanned: dict[str, int] = {}
        """the cluster of each kind whose rows a scan found in files (archive/scans/shadows.py)"""

    def read_table(self, kind: str) -> None:
        """Have queries find the rows of the kind's table again, and not those of a scan."""
        del self.scanned[kind]
        self.execute(sql.SQL("DROP TABLE pg_temp.{}").format(sql.Identifier(kind)))


def _require(connection: psycopg.Connection[Any], query: Query, parameters: Params | None) -> None:
    kinds = kinds_of(_text(connection, query))
    if not kinds:
        return
    from observatory.store.archive import needed

    if needed.is_anything_listed(connection):
        clusters = clusters_of(parameters)
        scanned = connection.scanned if isinstance(connection, ReadingConnection) else {}
        if hidden := [kind for kind in kinds if kind in scanned and [scanned[kind]] != clusters]:
            raise UnknownCluster(f"a scan hides other clusters' records of {', '.join(hidden)}")
        if left := [kind for kind in kinds if kind not in scanned]:
            needed.require(connection, clusters, left)


def _text(connection: psycopg.Connection[Any], query: Query) -> str:
    if isinstance(query, sql.Composable):
        return query.as_string(connection)
    return query.decode() if isinstance(query, bytes) else str(query)


@lru_cache(REMEMBERED_QUERIES)
def kinds_of(query: str) -> frozenset[str]:
    """The kinds of records that a query reads."""
    return frozenset(_tables().findall(query))


@cache
def _tables() -> re.Pattern[str]:
    names = "|".join(kind.name for kind in stored_kinds())
    return re.compile(rf"\b(?:FROM|JOIN)\s+\"?({names})\b")


def clusters_of(parameters: Params | None) -> list[int]:
    """The clusters that a query reads, as its parameters say. Raises UnknownCluster."""
    if isinstance(parameters, Mapping):
        if "cluster" in parameters:
            return [parameters["cluster"]]
        if "clusters" in parameters:
            return list(parameters["clusters"])
    raise UnknownCluster("a query of records needs the parameter `cluster` or `clusters`")
