"""SQL over 1,000 runs: an aggregate over all of their spans, from the archive and from the tables.

CLUSTERS clusters of RUNS runs with TASKS tasks each are made, queried, archived and queried again. Each query
has a process of its own, as people's queries have. Prints one JSON line; the exit code is 1 if a limit was
missed.
"""

from __future__ import annotations

import logging
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.measuring.django_setup import set_up

set_up()

from django.conf import settings  # noqa: E402

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.exchange.sql.scopes import scope_of  # noqa: E402
from observatory.runs.models import Run  # noqa: E402
from observatory.store.archive.rounds.round import archive_round  # noqa: E402
from observatory.store.ingest.batches.batch import Batch  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.sql.limits import OF_REQUEST  # noqa: E402
from observatory.store.sql.query import run_query  # noqa: E402
from observatory.store.times import from_seconds  # noqa: E402
from observatory.wire.records import Action, Span  # noqa: E402

DATABASE = "observatory_sql_benchmark"
CLUSTERS, RUNS, TASKS = 20, 50, 1_000
LENGTH = 60.0
"""seconds of a run"""
WORKERS, PREFIXES = 8, 5
BEGAN = 1_790_000_000.0
TIMES = 15
"""how often the query is measured"""
QUERY = """
    SELECT runs.id, prefix, count(*) AS tasks, sum(epoch(spans.stop - spans.start)) AS seconds,
        quantile_cont(epoch(spans.stop - spans.start), 0.5) AS median
    FROM runs JOIN spans USING (project, cluster)
    WHERE action = 'compute' AND spans.start >= runs.start AND spans.start < runs.stop
    GROUP BY ALL ORDER BY seconds DESC"""


def make(project: Project, number: int) -> None:
    """An ended cluster with its runs."""
    start = BEGAN + number * RUNS * LENGTH
    cluster = Cluster.objects.create(
        project=project,
        scheduler_id=f"Scheduler-{number}",
        name=f"cluster {number}",
        started=from_seconds(start),
        last_seen=from_seconds(start),
        ended=from_seconds(start) + timedelta(seconds=RUNS * LENGTH),
    )
    with Writer() as writer:
        for run in range(RUNS):
            began = start + run * LENGTH
            Run.objects.create(
                cluster=cluster,
                name="etl",
                origin=Run.Origin.CUT,
                start=from_seconds(began),
                stop=from_seconds(began + LENGTH),
            )
            writer.write(Batch.of(cluster.pk, spans=[_span(run, task, began) for task in range(TASKS)]))


def _span(run: int, task: int, began: float) -> Span:
    prefix = f"step-{task % PREFIXES}"
    start = began + task * LENGTH / TASKS * 0.99
    return Span(
        f"tcp://10.0.0.{task % WORKERS}:4000",
        1,
        f"('{prefix}-{run:032x}', {task})",
        prefix,
        f"{prefix}-{run:032x}",
        Action.COMPUTE,
        start,
        start + 0.01 + (task * 7919 % 1000) / 10_000,
        1_000,
        "int",
    )


def seconds() -> list[float]:
    """Of each query."""
    scope = scope_of(Cluster.objects.all())
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        result = run_query(QUERY, scope, OF_REQUEST)
        found.append(time.perf_counter() - began)
        assert result.rows.num_rows == CLUSTERS * RUNS * PREFIXES
        assert sum(result.rows.column("tasks").to_pylist()) == CLUSTERS * RUNS * TASKS
    return found


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE), tempfile.TemporaryDirectory() as folder:
        project = Project.objects.create(name="sql", slug="sql", retention_days=3650)
        for number in range(CLUSTERS):
            make(project, number)
        of_tables = seconds()
        settings.ARCHIVE = folder
        archive_round(float("inf"))
        archived = seconds()
    what = f"a DuckDB aggregate over {CLUSTERS * RUNS:,} runs of {TASKS:,} tasks"
    results = [
        Result(
            f"{what}, archived (s, 95th percentile)",
            "the limit",
            round(statistics.quantiles(archived, n=20)[-1], 2),
            2.0,
        ),
        Result(
            f"{what}, in the tables (s, median)", "for information", round(statistics.median(of_tables), 2)
        ),
    ]
    return print_results("sql", results, ["duckdb", "psycopg", "pyarrow"])


if __name__ == "__main__":
    sys.exit(main())
