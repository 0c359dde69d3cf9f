"""Interns names of prefixes, groups and types: each is stored once per cluster and referred to by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from observatory.store.dask_names import OTHER, color_of
from observatory.store.ingest.source_limits import SOURCE_LIMITS, SourceLimit
from observatory.store.texts import clean_name

COLUMN_ARRAYS: dict[str, LiteralString] = {
    "name": "%s::text[]",
    "color": "%s::text[]",
    "prefix_id": "%s::int[]",
}
"""a parameter with the values of a column, for each"""


NAME_SIZE = 200
"""bytes of memory beside the text"""
MOST_OF_CLUSTER, MOST_OF_BATCH = 100_000, 30_000
"""prefixes, groups or types of a cluster; new ones of a batch, all together"""


@dataclass(frozen=True, slots=True)
class Name:
    id: int
    text: str
    """cleaned"""


@dataclass(frozen=True, slots=True)
class Prefix(Name):
    def item(self) -> dict[str, Any]:
        """As docs/architecture/http.md shows a prefix."""
        return {"id": self.id, "name": self.text, "color": color_of(self.text)}


@dataclass(slots=True)
class NewNames:
    """Names of a batch, as their source wrote them."""

    prefixes: set[str] = field(default_factory=set)
    groups: dict[str, str] = field(default_factory=dict)
    """with their prefixes"""
    typenames: set[str] = field(default_factory=set)


class Names:
    """The interned names of one cluster, by the text that their source wrote."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster
        self.prefixes: dict[str, Name] = {}
        self.groups: dict[str, Name] = {}
        self.typenames: dict[str, Name] = {}
        self.refused = 0
        """new names of the last batch that were stored as OTHER"""
        self.size = 0
        """bytes of memory, by estimate"""
        self._counts: dict[str, int] = {}
        """by table: how many names of the cluster the store has"""
        self._limit: SourceLimit | None = None
        self._begun = 0
        """new names of this batch"""
        self._new_prefixes: list[Prefix] = []

    def table(self, name: str) -> Mapping[str, Name]:
        """The known names of task_group, prefix or typename."""
        return {"task_group": self.groups, "prefix": self.prefixes, "typename": self.typenames}[name]

    def intern(
        self, connection: psycopg.Connection, new: NewNames, limit: SourceLimit | None = None
    ) -> list[Prefix]:
        """Makes the names known; returns the prefixes that are new to the store.

        If the source has a limit, new names beyond those of cluster, batch and source are known as OTHER.
        """
        self._limit, self._begun, self.refused, self._new_prefixes = limit, 0, 0, []
        self._intern_prefixes(connection, new.prefixes | set(new.groups.values()))
        self._intern_groups(connection, new.groups)
        typenames = new.typenames - self.typenames.keys()
        if typenames:
            columns: dict[str, dict[str, Any]] = {name: {} for name in map(clean_name, typenames)}
            self._intern(connection, "typename", self.typenames, typenames, columns, dict)
        return self._new_prefixes

    def _intern_prefixes(self, connection: psycopg.Connection, wanted: AbstractSet[str]) -> None:
        prefixes = wanted - self.prefixes.keys()
        if prefixes:
            columns = {name: {"color": color_of(name)} for name in map(clean_name, prefixes)}
            other = lambda: {"color": color_of(OTHER)}  # noqa: E731
            new = self._intern(connection, "prefix", self.prefixes, prefixes, columns, other)
            self._new_prefixes += [Prefix(name.id, name.text) for name in new]

    def _intern_groups(self, connection: psycopg.Connection, prefix_of: Mapping[str, str]) -> None:
        """Groups whose prefixes are known."""
        groups = prefix_of.keys() - self.groups.keys()
        if groups:
            columns = {
                clean_name(group): {"prefix_id": self.prefixes[prefix_of[group]].id} for group in groups
            }
            self._intern(
                connection, "task_group", self.groups, groups, columns, self._other_group(connection)
            )

    def _other_group(self, connection: psycopg.Connection) -> Callable[[], dict[str, Any]]:
        def columns() -> dict[str, Any]:
            self._intern_prefixes(connection, {OTHER})
            return {"prefix_id": self.prefixes[OTHER].id}

        return columns

    def _intern(
        self,
        connection: psycopg.Connection,
        table: str,
        known: dict[str, Name],
        wanted: Iterable[str],
        columns: Mapping[str, Mapping[str, Any]],
        columns_of_other: Callable[[], Mapping[str, Any]],
    ) -> list[Name]:
        """Adds the `wanted` texts to `known`; `columns` are the other columns of each cleaned name."""
        ids = self._read(connection, table, list(columns))
        missing = sorted(columns.keys() - ids.keys() - {OTHER})
        permitted = self._permitted(connection, table, len(missing)) if missing else 0
        new = {name: columns[name] for name in missing[:permitted]}
        if refused := len(missing) - permitted:
            self.refused += refused
            ids |= self._read(connection, table, [OTHER])
        if OTHER not in ids and (refused or OTHER in columns):
            new[OTHER] = columns[OTHER] if OTHER in columns else columns_of_other()
        if new:
            ids |= self._insert(connection, table, new)
        for text in wanted:
            name = clean_name(text)
            name = name if name in ids else OTHER
            known[text] = Name(ids[name], name)
            self.size += NAME_SIZE + getsizeof(text) + (getsizeof(name) if name is not text else 0)
        return [Name(ids[name], name) for name in new]

    def _permitted(self, connection: psycopg.Connection, table: str, count: int) -> int:
        """How many of so many new names may be stored."""
        if self._limit is None:
            return count
        if table not in self._counts:
            query = sql.SQL("SELECT count(*) FROM {} WHERE cluster_id = %s").format(sql.Identifier(table))
            (self._counts[table],) = connection.execute(query, [self.cluster]).fetchone() or (0,)
        room = min(MOST_OF_CLUSTER - self._counts[table], MOST_OF_BATCH - self._begun)
        permitted = SOURCE_LIMITS.permit_names(self._limit.source, max(0, min(count, room)))
        self._counts[table] += permitted
        self._begun += permitted
        return permitted

    def _insert(
        self, connection: psycopg.Connection, table: str, new: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, int]:
        """Stores names with their other columns; returns their ids."""
        columns = ["name", *next(iter(new.values()))]
        statement = sql.SQL(
            """INSERT INTO {table} (cluster_id, {columns}) SELECT %s, * FROM unnest({values})
               ON CONFLICT (cluster_id, name) DO NOTHING RETURNING name, id"""
        ).format(
            table=sql.Identifier(table),
            columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
            values=sql.SQL(", ").join(sql.SQL(COLUMN_ARRAYS[column]) for column in columns),
        )
        values = [[others[column] for others in new.values()] for column in columns[1:]]
        ids: dict[str, int] = dict(
            connection.execute(statement, [self.cluster, list(new), *values]).fetchall()
        )
        missing = sorted(new.keys() - ids.keys())
        return ids | self._read(connection, table, missing) if missing else ids

    def _read(self, connection: psycopg.Connection, table: str, names: list[str]) -> dict[str, int]:
        query = sql.SQL("SELECT name, id FROM {} WHERE cluster_id = %s AND name = ANY(%s)")
        return dict(connection.execute(query.format(sql.Identifier(table)), [self.cluster, names]).fetchall())
