"""Stores the rows of a cluster's files beside those of its records again, in their tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files.run_tables import FINDING_MARK, RUN, RUN_TABLES, RunTable
from observatory.store.archive.place import Place
from observatory.store.archive.restoring.found_clusters import KNOWN_TABLES, FoundCluster, read_table
from observatory.store.archive.restoring.numbers import Reserved, new_numbers
from observatory.store.series.identity import series_identity
from observatory.store.texts import clean_json

NUMBERED = ("worker", "lane", "prefix", "task_group", "typename", "series", "stack")
"""each after those that it refers to"""
EXTENT = (
    "first",
    "last",
    "committed",
    "version",
    "sequence",
    "spans",
    "tasks",
    "errors",
    "workers",
    "counted",
)
CLUSTER = (
    "name",
    "address",
    "started",
    "first_seen",
    "last_seen",
    "agent_heard",
    "ended",
    "end_reason",
    "identity_interval",
    "metrics_interval",
)
PROGRESS = """INSERT INTO alerts_progress (cluster_id, until, settled, is_over)
    SELECT cluster_id, last, last, true FROM extent WHERE cluster_id = %s"""
"""what is old raises no alerts"""
MARK = """INSERT INTO runs_findingmark
        (project_id, run_id, run_name, kind, prefixes, marked_as, sentence, created)
    SELECT %(project)s, %(run)s, %(run_name)s::text, %(kind)s::text, %(prefixes)s::jsonb, %(marked_as)s,
           %(sentence)s, %(created)s
    WHERE NOT EXISTS (
        SELECT FROM runs_findingmark
        WHERE project_id = %(project)s AND run_name = %(run_name)s::text AND kind = %(kind)s::text
          AND prefixes = %(prefixes)s::jsonb)"""
"""unless the project has the mark"""

Row = Mapping[str, Any]


@dataclass(slots=True)
class Restoration:
    """Of one cluster, as part of a transaction. Methods raise ArchiveError and psycopg.Error."""

    connection: psycopg.Connection
    place: Place
    cluster: FoundCluster
    reserved: Reserved
    without: Collection[str]
    """paths of files that do not count"""
    number: int = 0
    """of the cluster here"""
    keeps_numbers: bool = False
    """whether all rows have the numbers that they had"""
    _ids: dict[str, dict[Any, int]] = field(default_factory=dict)
    """numbers here, by table and name"""

    def run(self, project: int) -> None:
        about, *others = self._rows("cluster")
        if others:
            raise ArchiveError(f"{self.cluster.where} is of {1 + len(others)} clusters")
        named = {table: list(self._rows(table)) for table in (*NUMBERED, RUN)}
        old = {"cluster": [about["id"]], **{table: [row["id"] for row in named[table]] for table in named}}
        self.keeps_numbers = all(
            self.reserved.are_free(self.connection, table, numbers) for table, numbers in old.items()
        )
        [self.number] = self._numbers("cluster", old["cluster"])
        self._store_cluster(project, about)
        for table in NUMBERED:
            self._store_named(table, named[table], self._numbers(table, old[table]))
        self._store_unnamed()
        self._ids[RUN] = dict(zip(old[RUN], self._numbers(RUN, old[RUN]), strict=True))
        for run_table in RUN_TABLES:
            rows = named[RUN] if run_table.name == RUN else self._rows(run_table.name)
            if run_table.name == FINDING_MARK:
                self._store_marks(project, rows)
            else:
                self._store_about_runs(run_table, rows)

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        piece = self.cluster.piece(table)
        if piece is not None and piece.path not in self.without:
            yield from read_table(self.place, self.cluster, KNOWN_TABLES[table])

    def _numbers(self, table: str, old: list[Any]) -> list[int]:
        return old if self.keeps_numbers else new_numbers(self.connection, table, len(old))

    def _store_cluster(self, project: int, about: Row) -> None:
        values = {"id": self.number, "project_id": project, "scheduler_id": self.cluster.scheduler}
        values |= {name: about[name] for name in CLUSTER}
        values["first_seen"] = values["first_seen"] or about["started"]
        values["identity_interval"] = values["identity_interval"] or 1.0
        values["metrics_interval"] = values["metrics_interval"] or 5.0
        self._copy("clusters_cluster", list(values), [list(values.values())])
        self._copy("extent", ["cluster_id", *EXTENT], [[self.number, *(about[name] for name in EXTENT)]])
        self.connection.execute(PROGRESS, [self.number])

    def _store_named(self, table: str, rows: list[dict[str, Any]], numbers: list[int]) -> None:
        """Rows that records refer to, and their numbers by name."""
        name, columns = NAMES[table], COLUMNS[table]
        self._ids[table] = {row[name]: number for row, number in zip(rows, numbers, strict=True)}
        self._copy(
            table,
            ["id", "cluster_id", *columns],
            (
                [number, self.number, *(value(self, row) for value in columns.values())]
                for row, number in zip(rows, numbers, strict=True)
            ),
        )

    def _store_unnamed(self) -> None:
        for table, columns in UNNAMED.items():
            if table == "tile" and not self.keeps_numbers:
                continue  # they are built again
            self._copy(
                table,
                ["cluster_id", *columns],
                (
                    [self.number, *(value(self, row) for value in columns.values())]
                    for row in self._rows(table)
                ),
            )

    def _store_about_runs(self, table: RunTable, rows: Iterable[dict[str, Any]]) -> None:
        if table.name == "run_explanation" and not self.keeps_numbers:
            return  # they are looked at again
        names = list(table.columns)
        of_cluster = [] if table.is_of_run else ["cluster_id"]
        self._copy(
            table.table,
            [*of_cluster, *map(table.column, names)],
            (
                [
                    *([] if table.is_of_run else [self.number]),
                    *(self._value_about_runs(table, name, row[name]) for name in names),
                ]
                for row in rows
            ),
        )

    def _store_marks(self, project: int, rows: Iterable[dict[str, Any]]) -> None:
        """Those that the project does not have: they hold for all of its runs of a name."""
        with self.connection.cursor() as cursor:
            cursor.executemany(
                MARK, [{**row, "run": self.id(RUN, row["run"]), "project": project} for row in rows]
            )

    def _value_about_runs(self, table: RunTable, name: str, value: Any) -> Any:
        if name == RUN and value is not None:
            return self.id(RUN, value)
        if table.name == RUN and name == "id":
            return self.id(RUN, value)
        if table.name == "attachment" and name == "threads" and not self.keeps_numbers:
            return json.dumps([{**thread, "worker": None} for thread in json.loads(value)])
        return value

    def id(self, table: str, name: Any) -> int:
        """The number of a row. Raises ArchiveError if there is none."""
        try:
            return self._ids[table][name]
        except KeyError:
            raise ArchiveError(f"{self.cluster.where} has no {table} {name!r}, to which it refers") from None

    def ids_or_zero(self, table: str, names: Iterable[Any]) -> list[int]:
        return [self._ids[table].get(name, 0) for name in names]

    def _copy(self, table: str, columns: list[str], rows: Iterable[list[Any]]) -> None:
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        with self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)


Value = Callable[[Restoration, Row], Any]


def _of(name: str) -> Value:
    return lambda restoration, row: row[name]


def _same(*names: str) -> dict[str, Value]:
    return {name: _of(name) for name in names}


def _worker(restoration: Restoration, row: Row) -> int | None:
    lifetime = row["worker_lifetime"]
    return None if lifetime is None else restoration.id("worker", lifetime)


def _labels(restoration: Restoration, row: Row) -> str:
    return clean_json(json.loads(row["labels"]))


NAMES = {
    "worker": "lifetime",
    "lane": "id",
    "prefix": "prefix",
    "task_group": "group",
    "typename": "typename",
    "series": "id",
    "stack": "stack",
}
"""the column of a file that names its rows"""
COLUMNS: dict[str, dict[str, Value]] = {
    "worker": {
        **_same("address", "name", "host", "nthreads", "memory_limit", "resources", "detail"),
        **_same("started", "ended", "end_reason", "status"),
        "position": _of("lifetime"),
    },
    "lane": {"worker_id": _worker, "thread": _of("thread"), "position": _of("lane")},
    "prefix": {"name": _of("prefix"), "color": _of("color")},
    "task_group": {
        "name": _of("group"),
        "prefix_id": lambda restoration, row: restoration.id("prefix", row["prefix"]),
    },
    "typename": {"name": _of("typename")},
    "series": {
        "worker_id": _worker,
        "metric": _of("metric"),
        "labels": _labels,
        "type": _of("type"),
        "identity": lambda restoration, row: series_identity(
            _worker(restoration, row) or 0, row["metric"], _labels(restoration, row)
        ),
    },
    "stack": {"identity": _of("stack"), "frames": _of("frames")},
}
"""the columns of a table, but its number and the cluster's"""
UNNAMED: dict[str, dict[str, Value]] = {
    "agent": _same("id", "sequence", "is_joint", "since", "last", "heard", "committed", "dropped", "status"),
    "hole": _same("start", "stop"),
    "keyframe": {
        **_same("time", "until", "counts", "seconds"),
        "prefixes": lambda restoration, row: restoration.ids_or_zero("prefix", row["prefixes"]),
    },
    "tile": _same("layer", "level", "index", "version", "body"),
}
