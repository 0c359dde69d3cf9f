"""The tables of SQL that are about runs: runs, their errors and findings, and alerts."""

from __future__ import annotations

from typing import LiteralString

import pyarrow as pa

from observatory.store.archive.files.columns import TIME
from observatory.store.sql.tables import TEXT, StoredTable, schema_of

LONG, REAL, BOOLEAN = pa.int64(), pa.float64(), pa.bool_()
OF_RUN: LiteralString = """JOIN runs_run run ON run.id = run_id
    JOIN clusters_cluster cluster ON cluster.id = run.cluster_id
    JOIN clusters_project project ON project.id = cluster.project_id"""

OWN_TABLES = (
    StoredTable(
        "runs",
        "runs: `id` is the number in URLs; `tags` and `figures` are JSON",
        schema_of(
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
            }
        ),
        """SELECT project.slug, cluster.scheduler_id, run.id, run.name, origin, outcome, run.start, stop,
               run."user", tags::text, pinned, tasks::bigint, errors::bigint, figures::text
           FROM runs_run run JOIN clusters_cluster cluster ON cluster.id = run.cluster_id
           JOIN clusters_project project ON project.id = cluster.project_id""",
        "run.start",
    ),
    StoredTable(
        "run_errors",
        "errors of runs, those of one kind and place together",
        schema_of(
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
            }
        ),
        f"""SELECT project.slug, cluster.scheduler_id, run_id, exception_type, message, place, function, file,
               line::bigint, prefix, count::bigint, retried::bigint, killed::bigint, first, last
           FROM runs_runerror {OF_RUN}""",
        "run_id, first",
    ),
    StoredTable(
        "findings",
        "what the tab Why? finds in runs that ended; `place` 1 is the main one",
        schema_of(
            {
                "run": LONG,
                "place": LONG,
                "kind": TEXT,
                "sentence": TEXT,
                "thread_seconds": REAL,
                "wall_seconds": REAL,
                "prefixes": pa.list_(TEXT),
                "exception": TEXT,
            }
        ),
        f"""SELECT project.slug, cluster.scheduler_id, run_id, place, finding->>'kind', finding->>'sentence',
               (finding->>'thread_seconds')::double precision, (finding->>'wall_seconds')::double precision,
               ARRAY(SELECT jsonb_array_elements_text(finding->'prefixes')),
               nullif(finding->>'exception', '')
           FROM runs_runfindings
           CROSS JOIN LATERAL jsonb_array_elements("all") WITH ORDINALITY AS one (finding, place) {OF_RUN}""",
        "run_id, place",
    ),
    StoredTable(
        "alerts",
        "alerts that were pending, fire or fired; `labels` is JSON",
        schema_of(
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
            }
        ),
        """SELECT project.slug, cluster.scheduler_id, alert.id, rule.name, alert.severity, state,
               alert.labels::text, pending, fired, resolved, value, nullif(alert.message, ''),
               nullif(finding, ''), acknowledged
           FROM alerts_alert alert JOIN alerts_rule rule ON rule.id = rule_id
           JOIN clusters_cluster cluster ON cluster.id = alert.cluster_id
           JOIN clusters_project project ON project.id = cluster.project_id""",
        "pending, alert.id",
    ),
)
