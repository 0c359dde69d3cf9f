"""Time to find the critical path of a run of a million tasks, as Celery does once it has ended.

A real run is recorded, stored, and copied within the database. The peer is a bare COPY of the same rows, in
the same run. Prints one JSON line; the exit code is 1 if a limit was missed. TASKS sets the size.
"""

from __future__ import annotations

import logging
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.django_setup import set_up  # noqa: E402

set_up()

import psycopg  # noqa: E402

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.runs.copied import PAUSE, copy_run  # noqa: E402
from benchmarks.runs.multiply import Recording, multiplied  # noqa: E402
from benchmarks.runs.recording import record  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.replay.scope import Scope  # noqa: E402
from observatory.store.connection import build_connection, connect  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.times import MAXIMUM_TIME, from_seconds  # noqa: E402
from observatory.why.critical_path.answer import critical_path  # noqa: E402
from observatory.why.kept import MOST_SPANS  # noqa: E402
from observatory.wire.kinds import stored_kinds  # noqa: E402

DATABASE = "observatory_critical_path"
TASKS = int(os.environ.get("TASKS", "1000000"))
ROUNDS = 3
MOST_SECONDS = 5.0
OF_AGENTS = [kind.name for kind in stored_kinds() if kind.name not in ("span", "sample", "event")]
READ = (
    "SELECT lane_id, prefix_id, group_id, key_rest, action, status, start, stop, nbytes FROM span",
    "SELECT time, group_id, key_rest, start, finish, worker_id FROM transition",
    "SELECT group_id, key_rest, depends_on_group_id, depends_on_rest FROM dependency",
    "SELECT worker_id, start, stop FROM transfer",
)
"""the rows that a path is found from"""


def store(tasks: int) -> tuple[Cluster, dict[str, Any]]:
    """Store a run of so many tasks; returns the cluster, and how much that is."""
    run = Recording(record())
    copies = math.ceil(tasks / run.tasks)
    start = float(int(time.time()) // 86_400 * 86_400 - 86_400)
    if copies * (run.length + PAUSE) > 80_000:
        raise RuntimeError("the run took too long: its copies don't fit into a day")
    project, _ = Project.objects.get_or_create(slug="benchmark", defaults={"name": "benchmark"})
    begun = from_seconds(start)
    cluster = Cluster.objects.create(
        project=project, scheduler_id="benchmark", name="benchmark", started=begun, last_seen=begun
    )
    with Writer() as writer:
        for batch in multiplied(run, cluster.pk, run.tasks, start, kinds=OF_AGENTS):
            writer.write(batch)
    with connect() as connection:
        copy_run(connection, cluster.pk, run.length, copies - 1)
        stop = from_seconds(start + copies * (run.length + PAUSE))
        connection.execute("UPDATE extent SET last = %s WHERE cluster_id = %s", [stop, cluster.pk])
    return cluster, {"tasks": copies * run.tasks, "copies": copies}


def bare(connection: psycopg.Connection) -> None:
    for query in READ:
        with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)") as copy:
            for _ in copy:
                pass


def taken(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def measure() -> dict[str, Any]:
    cluster, stored = store(TASKS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds: list[float] = []
    relative: list[float] = []
    processor: list[float] = []
    with build_connection() as connection:
        for _ in range(ROUNDS):
            reading = taken(lambda: bare(connection))
            spent = time.process_time()
            found = taken(lambda: critical_path(connection, Scope(cluster), 0, MAXIMUM_TIME, MOST_SPANS))
            processor.append(time.process_time() - spent)
            seconds.append(found)
            relative.append(found / reading)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        **stored,
        "seconds": round(min(seconds), 2),
        "processor_seconds": round(min(processor), 2),
        "relative": round(min(relative), 2),
        "bytes_per_task": round(grown * 1024 / stored["tasks"]),
    }


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE):
        measured = measure()
    what = f"critical path of {TASKS:,} tasks"
    results = [
        Result(f"seconds: {what}", "the limit", measured["seconds"], MOST_SECONDS),
        Result(f"time: {what}", "a bare COPY of the same rows", measured["relative"]),
        Result(f"bytes of memory per task: {what}", "the limit", measured["bytes_per_task"], 2_000),
    ]
    return print_results("critical_path", results, ["dask", "distributed", "numpy", "psycopg"], **measured)


if __name__ == "__main__":
    sys.exit(main())
