"""The files of a cluster beside those of its records: what records refer to, and kept aggregates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import LiteralString

import psycopg
import pyarrow as pa
from psycopg.abc import Query

from observatory.store.archive.files.columns import TIME

TEXT, SMALL, INTEGER, LONG, REAL = pa.string(), pa.int16(), pa.int32(), pa.int64(), pa.float64()
FETCHED = 500
"""rows at once; with MOST_BYTES of long values"""
MOST_BYTES = 16 << 20
WORKER: LiteralString = "worker.address, worker.position, worker.name"
NUMBER = {"id": INTEGER}
"""of a row in the installation that wrote the file: its tiles have such numbers"""
OF_WORKER = {"worker": TEXT, "worker_lifetime": INTEGER, "worker_name": TEXT}


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A file whose rows are those of a query."""

    name: str
    meaning: str
    columns: dict[str, pa.DataType]
    query: Query

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.columns.items()))

    def read(self, connection: psycopg.Connection, cluster: int) -> Iterator[pa.Table]:
        """The rows in pieces of bounded size; needs a transaction."""
        with connection.cursor(name="archived", binary=True) as cursor:
            cursor.itersize = FETCHED
            cursor.execute(self.query, {"cluster": cluster})
            waiting: list[tuple[object, ...]] = []
            size = 0
            for row in cursor:
                waiting.append(row)
                size += sum(len(value) for value in row if isinstance(value, str | bytes))
                if size >= MOST_BYTES:
                    yield self._table(waiting)
                    waiting, size = [], 0
            if waiting:
                yield self._table(waiting)

    def _table(self, rows: list[tuple[object, ...]]) -> pa.Table:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(values, type) for values, type in zip(columns, self.columns.values(), strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)


OTHER_TABLES = (
    OtherTable(
        "cluster",
        "the cluster itself, and how much is stored of it",
        {
            "scheduler": TEXT,
            "name": TEXT,
            "address": TEXT,
            "project": TEXT,
            "started": TIME,
            "last_seen": TIME,
            "ended": TIME,
            "end_reason": TEXT,
            "first": TIME,
            "last": TIME,
            "committed": TIME,
            "version": INTEGER,
            "sequence": LONG,
            "spans": LONG,
            "tasks": LONG,
            "errors": LONG,
            "workers": INTEGER,
            "counted": LONG,
            "id": LONG,
            "first_seen": TIME,
            "agent_heard": TIME,
            "identity_interval": REAL,
            "metrics_interval": REAL,
            "retention_days": INTEGER,
        },
        """SELECT scheduler_id, cluster.name, cluster.address, project.slug, cluster.started, last_seen,
               cluster.ended, cluster.end_reason, first, last, committed, version, sequence, spans, tasks,
               errors, workers, counted, cluster.id, first_seen, agent_heard, identity_interval,
               metrics_interval, retention_days
           FROM extent JOIN clusters_cluster cluster ON cluster.id = cluster_id
           JOIN clusters_project project ON project.id = project_id WHERE cluster_id = %(cluster)s""",
    ),
    OtherTable(
        "worker",
        "lifetimes of workers; `lifetime` is a worker's number in its cluster, since addresses are reused",
        {
            "lifetime": INTEGER,
            "address": TEXT,
            "name": TEXT,
            "host": TEXT,
            "nthreads": INTEGER,
            "memory_limit": LONG,
            "resources": TEXT,
            "detail": TEXT,
            "started": TIME,
            "ended": TIME,
            "end_reason": TEXT,
            "status": TEXT,
            **NUMBER,
        },
        """SELECT position, address, name, host, nthreads, memory_limit, resources::text, detail::text,
               started, ended, end_reason, status, id
           FROM worker WHERE cluster_id = %(cluster)s ORDER BY position""",
    ),
    OtherTable(
        "lane",
        "threads of workers",
        {**OF_WORKER, "thread": LONG, "lane": INTEGER, **NUMBER},
        f"""SELECT {WORKER}, thread, lane.position, lane.id FROM lane JOIN worker ON worker.id = worker_id
            WHERE lane.cluster_id = %(cluster)s ORDER BY worker.position, lane.position""",
    ),
    OtherTable(
        "prefix",
        "prefixes of tasks, with their colours",
        {"prefix": TEXT, "color": TEXT, **NUMBER},
        "SELECT name, color, id FROM prefix WHERE cluster_id = %(cluster)s ORDER BY name",
    ),
    OtherTable(
        "task_group",
        "groups of tasks",
        {"group": TEXT, "prefix": TEXT, **NUMBER},
        """SELECT task_group.name, prefix.name, task_group.id
           FROM task_group JOIN prefix ON prefix.id = prefix_id
           WHERE task_group.cluster_id = %(cluster)s ORDER BY 1""",
    ),
    OtherTable(
        "typename",
        "types of results",
        {"typename": TEXT, **NUMBER},
        "SELECT name, id FROM typename WHERE cluster_id = %(cluster)s ORDER BY name",
    ),
    OtherTable(
        "series",
        "series of samples: `type` is 1 for a gauge, 2 for a counter",
        {"metric": TEXT, "labels": TEXT, **OF_WORKER, "type": SMALL, **NUMBER},
        f"""SELECT metric, labels::text, {WORKER}, type, series.id
            FROM series LEFT JOIN worker ON worker.id = worker_id
            WHERE series.cluster_id = %(cluster)s ORDER BY metric, labels::text, worker.position""",
    ),
    OtherTable(
        "stack",
        "stacks of profiles: a line for each frame, outermost first: name, file, line, tab-separated",
        {"stack": TEXT, "frames": TEXT, **NUMBER},
        "SELECT identity::text, frames, id FROM stack WHERE cluster_id = %(cluster)s ORDER BY 1",
    ),
    OtherTable(
        "agent",
        "agents that reported",
        {
            "id": TEXT,
            "sequence": LONG,
            "is_joint": pa.bool_(),
            "since": TIME,
            "last": TIME,
            "heard": TIME,
            "committed": TIME,
            "dropped": LONG,
            "status": TEXT,
        },
        """SELECT id::text, sequence, is_joint, since, last, heard, committed, dropped, status::text
           FROM agent WHERE cluster_id = %(cluster)s ORDER BY since""",
    ),
    OtherTable(
        "hole",
        "stretches between kept windows that retention emptied",
        {"start": TIME, "stop": TIME},
        "SELECT start, stop FROM hole WHERE cluster_id = %(cluster)s ORDER BY start",
    ),
    OtherTable(
        "keyframe",
        "what was counted of each prefix's tasks by an instant: `counts` are those of `prefixes`, one after "
        "the other, `seconds` their computing time",
        {
            "time": TIME,
            "until": TIME,
            "prefixes": pa.list_(TEXT),
            "counts": pa.list_(LONG),
            "seconds": pa.list_(REAL),
        },
        """SELECT time, until, ARRAY(
                   SELECT prefix.name FROM unnest(prefixes) WITH ORDINALITY AS number (id, place)
                   LEFT JOIN prefix ON prefix.id = number.id ORDER BY place),
               counts, seconds
           FROM keyframe WHERE cluster_id = %(cluster)s ORDER BY time""",
    ),
    OtherTable(
        "tile",
        "built tiles and sums: `body` is what a page gets (docs/blocks.md), or JSON, with the ids of the "
        "other files",
        {"layer": TEXT, "level": SMALL, "index": LONG, "version": INTEGER, "body": pa.binary()},
        """SELECT layer, level, index, version, body FROM tile WHERE cluster_id = %(cluster)s
           ORDER BY layer, level, index""",
    ),
)
"""in the order in which they are written"""
CATALOGUE = OtherTable(
    "catalogue",
    "the files of the cluster but this one, which is written after all others: those that it does not list "
    "do not count",
    {
        "kind": TEXT,
        "path": TEXT,
        "start": TIME,
        "stop": TIME,
        "format": SMALL,
        "rows": LONG,
        "bytes": LONG,
        "first": TIME,
        "last": TIME,
        "statistics": TEXT,
        "checksum": TEXT,
    },
    """SELECT kind, path, start, stop, format, rows, bytes, first, last, statistics::text, checksum
       FROM archive_piece WHERE cluster_id = %(cluster)s AND state = 'stored' AND kind <> 'catalogue'
       ORDER BY kind, start, path""",
)
