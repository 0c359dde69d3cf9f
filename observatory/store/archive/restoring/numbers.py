"""Numbers of rows that come from an archive: those that they had, where nobody else can have got them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from observatory.store.archive.restoring.found_clusters import FoundCluster

MOST_SKIPPED = 20_000_000
"""numbers of a table that are given up at most"""
LARGEST = 2**31 - 1
TABLES = {
    "cluster": "clusters_cluster",
    "run": "runs_run",
    **{table: table for table in ("worker", "lane", "prefix", "task_group", "typename", "series", "stack")},
}
"""tables by the names of their files"""


@dataclass(frozen=True, slots=True)
class Reserved:
    """The numbers of tables (by file) that no sequence gives to anybody any more: from and to."""

    ranges: dict[str, tuple[int, int]]

    def are_free(self, connection: psycopg.Connection, file: str, numbers: Sequence[int | None]) -> bool:
        """Whether rows can have these numbers."""
        known = [number for number in numbers if number is not None]
        if not numbers:
            return True
        first, last = self.ranges.get(file, (1, 0))
        if len(set(known)) < len(numbers) or min(known) < first or max(known) > last:
            return False
        query = sql.SQL("SELECT FROM {} WHERE id = ANY(%s) LIMIT 1").format(sql.Identifier(TABLES[file]))
        return connection.execute(query, [known]).fetchone() is None


def reserve(connection: psycopg.Connection, clusters: Iterable[FoundCluster]) -> Reserved:
    """Take the numbers of clusters, their runs, workers, … from the sequences that still give them."""
    largest: dict[str, int] = {}
    for cluster in clusters:
        for piece in cluster.pieces:
            most = piece.statistics.get("id", (0, 0))[-1]
            if piece.kind in TABLES and isinstance(most, int):
                largest[piece.kind] = max(most, largest.get(piece.kind, 0))
    ranges = {}
    for file, most in largest.items():
        row = connection.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [TABLES[file]]
        ).fetchone()
        first = int(row[0]) if row else most
        if first < most <= min(first + MOST_SKIPPED, LARGEST):
            new_numbers(connection, file, most - first)
        if most <= LARGEST and most - first <= MOST_SKIPPED:
            ranges[file] = first, most
    return Reserved(ranges)


def new_numbers(connection: psycopg.Connection, file: str, count: int) -> list[int]:
    rows = connection.execute(
        "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [TABLES[file], count]
    )
    return [number for (number,) in rows]
