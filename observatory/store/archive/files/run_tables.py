"""The files of what was found out about a cluster's runs, and of what people wrote about them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import psycopg
import pyarrow as pa
from psycopg import sql

from observatory.store.archive.files.columns import TIME
from observatory.store.archive.files.tables import INTEGER, LONG, REAL, TEXT, OtherTable

BOOLEAN, BINARY = pa.bool_(), pa.binary()
RUN, FINDING_MARK = "run", "finding_mark"


@dataclass(frozen=True, slots=True)
class RunTable:
    """A table whose rows refer to a cluster or to a run of it. Columns are those of the table."""

    name: str
    meaning: str
    table: str
    columns: dict[str, pa.DataType]
    """with "run" for run_id: a number in `run`"""
    is_of_run: bool = True
    """whether rows refer to a run alone"""

    @property
    def file(self) -> OtherTable:
        query = sql.SQL("SELECT {} FROM {} WHERE cluster_id = %(cluster)s ORDER BY {}.{}").format(
            sql.SQL(", ").join(map(self._read, self.columns)),
            self._joined,
            sql.Identifier(self.table),
            sql.Identifier(self.column(next(iter(self.columns)))),
        )
        return OtherTable(self.name, self.meaning, self.columns, query)

    def column(self, name: str) -> str:
        """The table's column of a file's."""
        return "run_id" if name == RUN else name

    def hashes(self) -> sql.Composed:
        """A hash of each row, with its cluster."""
        return sql.SQL(
            """SELECT cluster_id, hash_record_extended(ROW({}), hashtext({}))::numeric AS hash
               FROM {} WHERE cluster_id = ANY(%(clusters)s)"""
        ).format(
            sql.SQL(", ").join(
                sql.Identifier(self.table, self.column(name)) for name in self.columns if name not in UNHASHED
            ),
            self.name,
            self._joined,
        )

    @property
    def _joined(self) -> sql.Composed:
        if not self.is_of_run:
            return sql.Composed([sql.Identifier(self.table)])
        return sql.SQL("{table} JOIN runs_run ON runs_run.id = {table}.run_id").format(
            table=sql.Identifier(self.table)
        )

    def _read(self, name: str) -> sql.Composed:
        cast = sql.SQL("::text" if self.columns[name] == TEXT else "")
        return sql.Composed([sql.Identifier(self.table, self.column(name)), cast])


UNHASHED = ("stacks", "answers")
"""long values that never change by themselves"""
RUNS = RunTable(
    RUN,
    "runs: `id` is the number in URLs; `tags`, `figures` and `contents` are JSON",
    "runs_run",
    {
        "id": LONG,
        "name": TEXT,
        "origin": TEXT,
        "outcome": TEXT,
        "start": TIME,
        "stop": TIME,
        "code_id": TEXT,
        "user": TEXT,
        "tags": TEXT,
        "code": TEXT,
        "attached_files": INTEGER,
        "pinned": BOOLEAN,
        "found_name": TEXT,
        "created": TIME,
        "tasks": LONG,
        "errors": LONG,
        "figures": TEXT,
        "contents": TEXT,
        "counted": TIME,
        "records_came": TIME,
        "sums_counted": TIME,
    },
    is_of_run=False,
)
RUN_TABLES = (
    RUNS,
    RunTable(
        "run_error",
        "errors of runs, those of one exception and place together",
        "runs_runerror",
        {
            RUN: LONG,
            "exception_type": TEXT,
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
            "last_id": TEXT,
            "message": TEXT,
            "deaths": TEXT,
        },
    ),
    RunTable(
        "run_findings",
        "what the tab Why? finds in runs: `all` is JSON, the first is the main one",
        "runs_runfindings",
        {
            RUN: LONG,
            "state": TEXT,
            "counted": TIME,
            "attempts": INTEGER,
            "kind": TEXT,
            "sentence": TEXT,
            "thread_seconds": REAL,
            "wall_seconds": REAL,
            "all": TEXT,
        },
    ),
    RunTable(
        FINDING_MARK,
        "findings that people marked as known or wrong, in all runs of a name, each with the run in which it "
        "was marked: `prefixes` is JSON",
        "runs_findingmark",
        {
            RUN: LONG,
            "run_name": TEXT,
            "kind": TEXT,
            "prefixes": TEXT,
            "marked_as": TEXT,
            "sentence": TEXT,
            "created": TIME,
        },
    ),
    RunTable(
        "run_explanation",
        "kept answers of the tab Why? for runs with very many tasks, as JSON",
        "runs_runexplanation",
        {RUN: LONG, "counted": TIME, "answers": TEXT},
    ),
    RunTable(
        "attachment",
        "profiles and traces that were attached to runs: `threads` is JSON, `stacks` packed",
        "runs_attachment",
        {
            RUN: LONG,
            "name": TEXT,
            "format": TEXT,
            "digest": TEXT,
            "start": TIME,
            "seconds": REAL,
            "is_dated": BOOLEAN,
            "threads": TEXT,
            "stacks": BINARY,
            "remarks": TEXT,
            "created": TIME,
        },
    ),
    RunTable(
        "usage",
        "what the cluster, or a run of it, used on a day (UTC)",
        "runs_usage",
        {
            "day": TEXT,
            RUN: LONG,
            "until": TIME,
            "cluster_seconds": REAL,
            "worker_seconds": REAL,
            "thread_seconds": REAL,
            "memory_seconds": REAL,
            "busy_seconds": REAL,
            "tasks": LONG,
            "errors": LONG,
        },
        is_of_run=False,
    ),
    RunTable(
        "note",
        "notes on the timeline",
        "runs_note",
        {"time": TIME, "stop": TIME, "text": TEXT, "created": TIME, "edited": TIME},
        is_of_run=False,
    ),
    RunTable(
        "run_discovery",
        "how far the cluster was searched for runs",
        "runs_search",
        {"records": LONG, "looked": TIME, "busy": TIME},
        is_of_run=False,
    ),
)
"""in the order in which they are written, each after those that it refers to"""


def read_digests(connection: psycopg.Connection, clusters: Collection[int]) -> dict[int, str]:
    """A digest of the rows of RUN_TABLES of each cluster, whatever their order."""
    rows = sql.SQL(" UNION ALL ").join(table.hashes() for table in RUN_TABLES)
    query = sql.SQL(
        """SELECT asked.id, coalesce(sum(hash), 0)::text FROM unnest(%(clusters)s::int[]) AS asked (id)
           LEFT JOIN ({}) AS row ON row.cluster_id = asked.id GROUP BY asked.id"""
    ).format(rows)
    return dict(connection.execute(query, {"clusters": list(clusters)}).fetchall())
