"""The tables of SQL that are not records: runs, their errors and findings, and alerts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from django.db.models import QuerySet

from observatory.alerts.models import Alert
from observatory.runs.models import Run, RunError, RunFindings
from observatory.store.archive.columns import TIME
from observatory.store.sql.query import RowsTable
from observatory.store.sql.sources import Scope
from observatory.store.sql.tables import TEXT, schema_of, table_of_rows

LONG, REAL, BOOLEAN = pa.int64(), pa.float64(), pa.bool_()
CHUNK = 2_000
"""rows that are taken from the database at once"""


@dataclass(frozen=True, slots=True)
class OwnTable:
    """Its columns, and the rows of some clusters, each with its cluster's id first."""

    name: str
    meaning: str
    columns: Mapping[str, pa.DataType]
    rows: Callable[[list[int]], Iterator[tuple[Any, ...]]]

    def within(self, scope: Scope) -> RowsTable:
        """The table as those see it who see the scope's clusters."""
        schema = schema_of(dict(self.columns))

        def read() -> pa.Table:
            rows = [(*scope.clusters[cluster], *rest) for cluster, *rest in self.rows(list(scope.clusters))]
            return table_of_rows(schema, rows)

        return RowsTable(self.name, self.meaning, schema, read)


def own_tables(scope: Scope) -> dict[str, RowsTable]:
    return {table.name: table.within(scope) for table in OWN_TABLES}


def _runs(clusters: list[int]) -> Iterator[tuple[Any, ...]]:
    found = _values(
        Run.objects.filter(cluster__in=clusters).order_by("start"),
        *("cluster_id", "pk", "name", "origin", "outcome", "start", "stop", "user", "tags", "pinned"),
        *("tasks", "errors", "figures"),
    )
    for *row, tags, pinned, tasks, errors, figures in found:
        yield *row, _json(tags), pinned, tasks, errors, _json(figures)


def _run_errors(clusters: list[int]) -> Iterator[tuple[Any, ...]]:
    return _values(
        RunError.objects.filter(run__cluster__in=clusters).order_by("run", "first"),
        *("run__cluster_id", "run_id", "exception_type", "message", "place", "function", "file", "line"),
        *("prefix", "count", "retried", "killed", "first", "last"),
    )


def _findings(clusters: list[int]) -> Iterator[tuple[Any, ...]]:
    kept = RunFindings.objects.filter(run__cluster__in=clusters, state=RunFindings.State.FOUND)
    for cluster, run, findings in _values(kept.order_by("run"), "run__cluster_id", "run_id", "all"):
        for place, finding in enumerate(findings, 1):
            yield (
                *(cluster, run, place, finding["kind"], finding["sentence"]),
                *(finding["thread_seconds"], finding["wall_seconds"], finding["prefixes"]),
                finding["exception"] or None,
            )


def _alerts(clusters: list[int]) -> Iterator[tuple[Any, ...]]:
    found = _values(
        Alert.objects.filter(cluster__in=clusters).order_by("pending"),
        *("cluster_id", "pk", "rule__name", "severity", "state", "labels", "pending", "fired", "resolved"),
        *("value", "message", "finding", "acknowledged"),
    )
    for *row, labels, pending, fired, resolved, value, message, finding, acknowledged in found:
        texts = message or None, finding or None
        yield *row, _json(labels), pending, fired, resolved, value, *texts, acknowledged


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _values(found: QuerySet[Any], *names: str) -> Iterator[tuple[Any, ...]]:
    return found.values_list(*names).iterator(chunk_size=CHUNK)


OWN_TABLES = (
    OwnTable(
        "runs",
        "runs: `id` is the number in URLs; `tags` and `figures` are JSON",
        {
            "id": LONG,
            "name": TEXT,
            "origin": TEXT,
            "outcome": TEXT,
            "start": TIME,
            "stop": TIME,
            "user": TEXT,
            "tags": TEXT,
            "pinned": BOOLEAN,
            "tasks": LONG,
            "errors": LONG,
            "figures": TEXT,
        },
        _runs,
    ),
    OwnTable(
        "run_errors",
        "errors of runs, those of one kind and place together",
        {
            "run": LONG,
            "exception_type": TEXT,
            "message": TEXT,
            "place": TEXT,
            "function": TEXT,
            "file": TEXT,
            "line": LONG,
            "prefix": TEXT,
            "count": LONG,
            "retried": LONG,
            "killed": LONG,
            "first": TIME,
            "last": TIME,
        },
        _run_errors,
    ),
    OwnTable(
        "findings",
        "what the tab Why? finds in runs that ended; `place` 1 is the main one",
        {
            "run": LONG,
            "place": LONG,
            "kind": TEXT,
            "sentence": TEXT,
            "thread_seconds": REAL,
            "wall_seconds": REAL,
            "prefixes": pa.list_(TEXT),
            "exception": TEXT,
        },
        _findings,
    ),
    OwnTable(
        "alerts",
        "alerts that were pending, fire or fired; `labels` is JSON",
        {
            "id": LONG,
            "rule": TEXT,
            "severity": TEXT,
            "state": TEXT,
            "labels": TEXT,
            "pending": TIME,
            "fired": TIME,
            "resolved": TIME,
            "value": REAL,
            "message": TEXT,
            "finding": TEXT,
            "acknowledged": TIME,
        },
        _alerts,
    ),
)
