"""A connection that keeps the plan of the last query as it was run, for tests of the work that it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg


class PlannedConnection:
    """Stands in for a psycopg connection, and for its cursors."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection
        self.plan: dict[str, Any] = {}

    def cursor(self, **options: Any) -> PlannedConnection:
        return self

    def execute(self, query: Any, parameters: Any) -> Any:
        explained = self.connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}".encode(), parameters)
        [[[document]]] = explained.fetchall()
        self.plan = document["Plan"]
        return self.connection.cursor(binary=True).execute(query, parameters)

    def rows_read(self, table: str) -> float:
        """How many rows of a table the scans of the plan looked at."""
        return sum(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for node in self._nodes()
            if node.get("Relation Name") == table
        )

    @property
    def rows_removed(self) -> float:
        """How many rows were read or joined for nothing."""
        removed = ("Rows Removed by Filter", "Rows Removed by Join Filter")
        return sum(node.get(name, 0) * node["Actual Loops"] for node in self._nodes() for name in removed)

    def _nodes(self) -> Iterator[dict[str, Any]]:
        nodes = [self.plan]
        while nodes:
            node = nodes.pop()
            nodes += node.get("Plans", [])
            yield node
