"""Interns names of prefixes, groups and types: each is stored once per cluster and referred to by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg
from distributed.utils import color_of
from psycopg import sql

from observatory.store.texts import clean_name

COLUMN_ARRAYS: dict[str, LiteralString] = {
    "name": "%s::text[]",
    "color": "%s::text[]",
    "prefix_id": "%s::int[]",
}
"""a parameter with the values of a column, for each"""


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

    def __len__(self) -> int:
        return len(self.prefixes) + len(self.groups) + len(self.typenames)

    def table(self, name: str) -> Mapping[str, Name]:
        """The known names of task_group, prefix or typename."""
        return {"task_group": self.groups, "prefix": self.prefixes, "typename": self.typenames}[name]

    def intern(self, connection: psycopg.Connection, new: NewNames) -> list[Prefix]:
        """Makes the names known; returns the prefixes that are new to the store."""
        added = self._intern_prefixes(connection, new.prefixes | set(new.groups.values()))
        self._intern_groups(connection, new.groups)
        typenames = new.typenames - self.typenames.keys()
        if typenames:
            columns: dict[str, dict[str, Any]] = {name: {} for name in map(clean_name, typenames)}
            self._intern(connection, "typename", self.typenames, typenames, columns)
        return added

    def _intern_prefixes(self, connection: psycopg.Connection, wanted: AbstractSet[str]) -> list[Prefix]:
        prefixes = wanted - self.prefixes.keys()
        if not prefixes:
            return []
        columns = {name: {"color": color_of(name)} for name in map(clean_name, prefixes)}
        new = self._intern(connection, "prefix", self.prefixes, prefixes, columns)
        return [Prefix(name.id, name.text) for name in new]

    def _intern_groups(self, connection: psycopg.Connection, prefix_of: Mapping[str, str]) -> None:
        """Groups whose prefixes are known."""
        groups = prefix_of.keys() - self.groups.keys()
        if groups:
            columns = {
                clean_name(group): {"prefix_id": self.prefixes[prefix_of[group]].id} for group in groups
            }
            self._intern(connection, "task_group", self.groups, groups, columns)

    def _intern(
        self,
        connection: psycopg.Connection,
        table: str,
        known: dict[str, Name],
        wanted: Iterable[str],
        columns: Mapping[str, Mapping[str, Any]],
    ) -> list[Name]:
        """Adds the `wanted` texts to `known`; `columns` are the other columns of each cleaned name."""
        ids = self._read(connection, table, list(columns))
        missing = sorted(columns.keys() - ids.keys())
        if missing:
            others = list(columns[missing[0]])
            statement = sql.SQL(
                """INSERT INTO {table} (cluster_id, {columns}) SELECT %s, * FROM unnest({values})
                   ON CONFLICT (cluster_id, name) DO NOTHING"""
            ).format(
                table=sql.Identifier(table),
                columns=sql.SQL(", ").join(map(sql.Identifier, ["name", *others])),
                values=sql.SQL(", ").join(sql.SQL(COLUMN_ARRAYS[column]) for column in ["name", *others]),
            )
            values = [[columns[name][column] for name in missing] for column in others]
            connection.execute(statement, [self.cluster, missing, *values])
            ids |= self._read(connection, table, missing)
        for text in wanted:
            name = clean_name(text)
            known[text] = Name(ids[name], name)
        return [Name(ids[name], name) for name in missing]

    def _read(self, connection: psycopg.Connection, table: str, names: list[str]) -> dict[str, int]:
        query = sql.SQL("SELECT name, id FROM {} WHERE cluster_id = %s AND name = ANY(%s)")
        return dict(connection.execute(query.format(sql.Identifier(table)), [self.cluster, names]).fetchall())
