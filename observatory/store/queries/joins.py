"""The joins that lead from a table of records to the names that it refers to."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.store.schema.dimensions import REFERRED
from observatory.wire.columns import Column

Place = tuple[str, ...]
"""the references that lead to a table"""


class Joins:
    """The joins of a table that readings need."""

    def __init__(self, table: str, columns: Sequence[Column]) -> None:
        self._columns: dict[Place, dict[str, Column]] = {(): {column.name: column for column in columns}}
        self._aliases: dict[Place, str] = {(): table}
        self._optional: dict[Place, bool] = {(): False}
        self._sql: list[str] = []

    @property
    def sql(self) -> str:
        return " ".join(self._sql)

    def reach(self, path: tuple[str, ...]) -> tuple[str, Column, bool]:
        """The SQL name of the column at the end of a path, the column, and whether its row can be missing."""
        *references, name = path
        alias, is_optional = self.join(tuple(references))
        return f"{alias}.{name}", self._columns[tuple(references)][name], is_optional

    def join(self, place: Place) -> tuple[str, bool]:
        """The name of the table at a place, and whether its row can be missing."""
        for length in range(1, len(place) + 1):
            self._join(place[:length])
        return self._aliases[place], self._optional[place]

    def _join(self, place: tuple[str, ...]) -> None:
        if place in self._aliases:
            return
        before = place[:-1]
        reference = self._columns[before][place[-1]]
        [target] = [table for table in REFERRED if table.name == reference.refers]
        alias = f"of_{'_'.join(place)}"
        self._columns[place] = {column.name: column for column in target.columns}
        self._aliases[place] = alias
        self._optional[place] = self._optional[before] or reference.is_optional
        join = "LEFT JOIN" if self._optional[place] else "JOIN"
        self._sql.append(f"{join} {target.name} {alias} ON {alias}.id = {self._aliases[before]}.{place[-1]}")
