"""Searches of archived records in their files: words in 10,000,000 log lines, and tasks among 1,000,000.

Files are written as the archive writes them, without rows in tables. Prints one JSON line; the exit code is 1
if a limit was missed.
"""

from __future__ import annotations

import logging
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from benchmarks.measuring.django_setup import set_up

set_up()

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.replay.logs.search import Wanted, before, matching_lines, search_around  # noqa: E402
from observatory.replay.scope import Scope  # noqa: E402
from observatory.replay.task_history import error_with_id, task_history, worker_last_minutes  # noqa: E402
from observatory.replay.task_search import Wanted as WantedTasks  # noqa: E402
from observatory.replay.task_search import search_tasks  # noqa: E402
from observatory.store.archive import catalogue, presence  # noqa: E402
from observatory.store.archive.files.writing import order_of, schema_of, write_records  # noqa: E402
from observatory.store.archive.place import FORMAT, required_place  # noqa: E402
from observatory.store.connection import connect, read_connection  # noqa: E402
from observatory.store.ingest.batches.batch import BatchBuilder  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.queries.timeline import snapshot  # noqa: E402
from observatory.store.times import from_microseconds, from_seconds  # noqa: E402
from observatory.wire.head import Head  # noqa: E402
from observatory.wire.kind import Kind  # noqa: E402
from observatory.wire.kinds import KINDS  # noqa: E402
from observatory.wire.records import Action, Sample, Series, Span, WorkerSeen  # noqa: E402

DATABASE = "observatory_archive_scans"
LINES, TASKS = 10_000_000, 1_000_000
GROUP = 131_072
FILE = 16 * GROUP
START, LENGTH = 1_790_000_000, 8 * 3600
"""seconds"""
WORKERS, GROUPS = 50, 200
STORIES = 40
ADDRESSES = np.array([f"tcp://10.0.0.{number}:4000" for number in range(WORKERS)])
MESSAGES = (
    "Unmanaged memory use is high. -- Unmanaged memory: {a} GiB -- Worker memory limit: {b} GiB",
    "Event loop was unresponsive in Worker for {a}s.  This is often caused by long-running functions",
    "Register worker addr: tcp://10.0.{b}.{b}:{n} name: w{b}",
    "Processed order {n} of customer {h} in {a} s",
    "Wrote partition {n} of s3://bucket/table/part-{h}.parquet ({n} rows)",
    "Retrying request to https://api.example.com/v2/items/{h}?page={n}: HTTP 503",
    "Task ('read-parquet-{h}', {n}) took {a} s",
    "full garbage collection released {a} MiB from {n} reference cycles (threshold: 9.54 MiB)",
)
FREQUENT, RARE = "customer 00", "xylophone"
RARE_LINES = FILE // GROUP
"""all in the oldest file, one in each row group"""
MEBIBYTE = 1 << 20


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE), tempfile.TemporaryDirectory() as folder:
        settings.ARCHIVE = folder
        cluster = make_cluster()
        with connect() as connection:
            sizes = {kind: write(connection, cluster.pk, kind, rows) for kind, rows in ROWS.items()}
            note_removed(connection, cluster.pk)
        measured = measure(cluster)
        with connect() as connection:
            assert set(presence.removed_kinds(connection, cluster.pk)) == set(ROWS), "a kind was brought back"
    return print_results(
        "archive_scans", results(measured), ["duckdb", "psycopg", "pyarrow"], bytes=sizes, **measured
    )


def make_cluster() -> Cluster:
    """With the names that its records refer to."""
    project = Project.objects.create(name="scans", slug="scans")
    start = from_seconds(START)
    cluster = Cluster.objects.create(
        project=project,
        scheduler_id="Scheduler-1",
        name="scans",
        started=start,
        last_seen=start,
        ended=start + timedelta(seconds=LENGTH),
    )
    head = Head("0" * 32, 1, "Scheduler-1", "scans", "", START, START, START + LENGTH)
    batch = BatchBuilder(cluster.pk, head=head, committed=START + LENGTH)
    batch.workers = [
        WorkerSeen(address, f"w{number}", "10.0.0.1", 1, 2**33, START, "running", {}, {})
        for number, address in enumerate(ADDRESSES.tolist())
    ]
    for number in range(GROUPS):
        group = f"load-{number:032x}"
        worker = str(ADDRESSES[number % WORKERS])
        time = START + number
        batch.add(
            Span(worker, 1, f"('{group}', 0)", "load", group, Action.COMPUTE, time, time + 1, 1, "DataFrame")
        )
        batch.add(
            Sample(Series("observatory_worker_memory_bytes", (("type", "process"),), worker), time, 1.0)
        )
    with Writer() as writer:
        writer.write(batch.batch)
    with connect() as connection:
        for kind in KINDS:
            if kind in ROWS:
                connection.execute(f"DELETE FROM {kind} WHERE cluster_id = %s".encode(), [cluster.pk])
        connection.execute("UPDATE extent SET last = %s, spans = %s", [from_seconds(START + LENGTH), TASKS])
    return cluster


def write(
    connection: psycopg.Connection, cluster: int, name: str, rows: Callable[[int, int], dict[str, Any]]
) -> int:
    """Write the files of a kind, and enter them in the catalogue; returns their bytes."""
    kind, size = KINDS[name], 0
    for first in range(0, NUMBERS[name], FILE):
        stop = min(first + FILE, NUMBERS[name])
        times = [from_microseconds(int(moment(place, name))) for place in (first, stop)]
        path = f"{name}/project=scans/cluster=1/{first}.parquet"
        piece = catalogue.begin(connection, cluster, name, times[0], times[1], path, FORMAT)
        groups = (_table(kind, rows(start, min(start + GROUP, stop))) for start in range(first, stop, GROUP))
        written = write_records(required_place(), path, kind, {}, groups, GROUP)
        catalogue.enter(connection, cluster, [(piece, written)], [])
        size += written.bytes
    return size


def moment(place: int, name: str) -> float:
    return 1e6 * (START + LENGTH * place / NUMBERS[name])


def _table(kind: Kind, columns: dict[str, Any]) -> pa.Table:
    schema = schema_of(kind)
    rows = len(next(iter(columns.values())))
    arrays = {
        field.name: pa.array(columns[field.name]) if field.name in columns else _empty(field.type, rows)
        for field in schema
    }
    table = pa.table(arrays).sort_by([(name, "ascending") for name in order_of(kind)])
    return pa.Table.from_arrays(
        [table.column(field.name).combine_chunks().cast(field.type) for field in schema], schema=schema
    )


def _empty(type: pa.DataType, rows: int) -> pa.Array:
    if pa.types.is_string(type) or pa.types.is_dictionary(type):
        return pa.array([""] * rows)
    return pa.array(np.zeros(rows, np.int64))


def _times(name: str, start: int, stop: int, chance: np.random.Generator) -> pa.Array:
    places = np.arange(start, stop) + chance.random(stop - start)
    moments = 1e6 * (START + LENGTH * np.minimum(places, NUMBERS[name]) / NUMBERS[name])
    return pa.array(np.sort(moments.astype(np.int64)), pa.timestamp("us", "UTC"))


def _of_workers(workers: Any) -> dict[str, Any]:
    names = np.array([f"w{number}" for number in range(WORKERS)])
    return {"worker": ADDRESSES[workers], "worker_lifetime": workers, "worker_name": names[workers]}


def log_rows(start: int, stop: int) -> dict[str, Any]:
    chance = np.random.default_rng(start)
    rows = stop - start
    message, number, small = (chance.integers(0, most, rows) for most in (len(MESSAGES), 1_000_000, 250))
    texts = [
        MESSAGES[message].format(a=f"{part:.2f}", b=small, n=number, h=f"{part:.16f}"[2:])
        for message, number, small, part in zip(
            message.tolist(), number.tolist(), small.tolist(), chance.random(rows).tolist(), strict=True
        )
    ]
    if start < FILE:  # in the oldest file, whichever way one searches
        texts[rows // 2] = f"a {RARE} fell"
    levels = chance.choice([10, 20, 30, 40], rows, p=[0.1, 0.8, 0.08, 0.02])
    return {
        "time": _times("log", start, stop, chance),
        "role": ["worker"] * rows,
        **_of_workers(chance.integers(0, WORKERS, rows)),
        "level": levels,
        "logger": chance.choice(["distributed.worker", "distributed.core", "etl.orders"], rows),
        "message": texts,
        "traceback": [
            f'Traceback:\n  File "etl.py", line {line}\nValueError: {text[:60]}' if level == 40 else ""
            for line, (level, text) in enumerate(zip(levels.tolist(), texts, strict=True))
        ],
        "pid": [7] * rows,
    }


def key_of(task: int) -> str:
    return f"('load-{task % GROUPS:032x}', {task // GROUPS})"


def _of_tasks(tasks: Any) -> dict[str, Any]:
    groups = np.array([f"load-{number:032x}" for number in range(GROUPS)])
    return {
        "key": [key_of(task) for task in tasks.tolist()],
        "prefix": ["load"] * len(tasks),
        "group": groups[tasks % GROUPS],
    }


def span_rows(start: int, stop: int) -> dict[str, Any]:
    chance = np.random.default_rng(start)
    tasks = np.arange(start, stop)
    times = _times("span", start, stop, chance)
    lengths = pa.array(chance.integers(1, 2_000_000, stop - start), pa.duration("us"))
    return {
        "start": times,
        "stop": pc.add(times, lengths),
        **_of_workers(tasks % GROUPS % WORKERS),
        "thread": [1] * len(tasks),
        **_of_tasks(tasks),
        "action": ["compute"] * len(tasks),
        "status": ["OK"] * len(tasks),
        "nbytes": chance.integers(0, 2**30, len(tasks)),
        "typename": ["DataFrame"] * len(tasks),
    }


def transition_rows(start: int, stop: int) -> dict[str, Any]:
    chance = np.random.default_rng(start)
    places = np.arange(start, stop)
    states = np.array(["released", "waiting", "processing", "memory"])
    return {
        "time": _times("transition", start, stop, chance),
        **_of_tasks(places // 4),
        "start": states[places % 4],
        "finish": states[(places + 1) % 4],
        **_of_workers(places % WORKERS),
        "stimulus": [f"task-finished-{part:.12f}" for part in chance.random(stop - start)],
    }


def task_rows(start: int, stop: int) -> dict[str, Any]:
    tasks = np.arange(start, stop)
    return {
        "time": _times("task", start, stop, np.random.default_rng(start)),
        "computation": ["c1"] * len(tasks),
        **_of_tasks(tasks),
        "priority": [f"(0, 1, {task})" for task in tasks.tolist()],
        "annotations": ["{}"] * len(tasks),
        "resources": ["{}"] * len(tasks),
    }


def dependency_rows(start: int, stop: int) -> dict[str, Any]:
    tasks, others = np.arange(start, stop), np.maximum(np.arange(start, stop) - 1, 0)
    groups = np.array([f"load-{number:032x}" for number in range(GROUPS)])
    return {
        "time": _times("dependency", start, stop, np.random.default_rng(start)),
        "computation": ["c1"] * len(tasks),
        "key": [key_of(task) for task in tasks.tolist()],
        "key_group": groups[tasks % GROUPS],
        "depends_on": [key_of(task) for task in others.tolist()],
        "depends_on_group": groups[others % GROUPS],
    }


def error_id(place: int) -> str:
    return f"00000000-0000-0000-0000-{place:012x}"


def error_rows(start: int, stop: int) -> dict[str, Any]:
    places = np.arange(start, stop)
    tasks = places * (TASKS // NUMBERS["error"])
    return {
        "time": _times("error", start, stop, np.random.default_rng(start)),
        "id": [error_id(place) for place in places.tolist()],
        **_of_tasks(tasks),
        "outcome": ["erred"] * len(places),
        "exception_type": ["ValueError"] * len(places),
        "message": [f"no {place}" for place in places.tolist()],
        "traceback": [f'Traceback:\n  File "etl.py", line {place}\nValueError' for place in places.tolist()],
        **_of_workers(tasks % GROUPS % WORKERS),
        "workers": [f'["{address}"]' for address in ADDRESSES[tasks % GROUPS % WORKERS].tolist()],
    }


ROWS = {
    "log": log_rows,
    "span": span_rows,
    "transition": transition_rows,
    "task": task_rows,
    "dependency": dependency_rows,
    "error": error_rows,
}
NUMBERS = {
    "log": LINES,
    "span": TASKS,
    "transition": 4 * TASKS,
    "task": TASKS,
    "dependency": TASKS,
    "error": TASKS // 100,
}


def note_removed(connection: psycopg.Connection, cluster: int) -> None:
    """Have the catalogue say that rows left their tables."""
    presence.announce(connection)
    presence.list_kinds(connection, cluster)
    connection.execute("UPDATE archived_rows SET is_removed = true WHERE cluster_id = %s", [cluster])
    connection.execute(
        """INSERT INTO archived_cluster (cluster_id, sequence, runs)
           SELECT cluster_id, sequence, '' FROM extent WHERE cluster_id = %s""",
        [cluster],
    )


def measure(cluster: Cluster) -> dict[str, Any]:
    scope, chance = Scope(cluster), random.Random(1)
    end = round((START + LENGTH) * 1e6)
    tasks = [chance.randrange(1, TASKS - 1) for _ in range(STORIES)]
    failed = [chance.randrange(NUMBERS["error"]) for _ in range(STORIES)]
    with read_connection() as connection:
        story(connection, cluster.pk, 1)  # imports, and the ends of files
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        first = seconds(lambda: search_around(connection, scope, Wanted(match=FREQUENT), end, 200))
        rare = search_of_all(connection, scope, Wanted(match=RARE), end)
        regex = search_of_all(connection, scope, Wanted(match=rf"a {RARE} \w+", is_regex=True), end)
        stories = [seconds(lambda task=task: story(connection, cluster.pk, task)) for task in tasks]
        errors = [seconds(lambda place=place: error(connection, cluster.pk, place)) for place in failed]
        wanted = [WantedTasks(f", {task // GROUPS})") for task in tasks[:5]]
        keys = [seconds(lambda each=each: search_tasks(connection, cluster.pk, each, 50)) for each in wanted]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    return {
        "first_lines": first,
        "rare_word": rare,
        "regex": regex,
        "story": float(np.quantile(stories, 0.95)),
        "error": float(np.quantile(errors, 0.95)),
        "keys": float(np.max(keys)),
        "memory": (grown << 10) // MEBIBYTE,
    }


def seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    assert run()
    return time.perf_counter() - began


def search_of_all(connection: psycopg.Connection, scope: Scope, wanted: Wanted, end: int) -> float:
    began = time.perf_counter()
    place = before(from_microseconds(end))
    with closing(matching_lines(connection, scope, wanted, place, goes_back=True)) as pieces:
        found = sum(len(lines) for lines, _ in pieces)
    assert found == RARE_LINES, found
    return time.perf_counter() - began


def story(connection: psycopg.Connection, cluster: int, task: int) -> object:
    with snapshot(connection):
        found = task_history(connection, cluster, key_of(task))
    assert len(found.transitions) == 4, found
    assert all((found.spans, found.requests, found.dependencies.total, found.dependents.total)), found
    return found


def error(connection: psycopg.Connection, cluster: int, place: int) -> object:
    """As an error's page reads it."""
    from uuid import UUID

    with snapshot(connection):
        found = error_with_id(connection, cluster, UUID(error_id(place)))
        assert found is not None
        told = task_history(connection, cluster, found.key)
        return worker_last_minutes(connection, cluster, found, told.transitions)


def results(measured: dict[str, Any]) -> Iterator[Result]:
    of_lines, of_tasks = f"{LINES:,} archived log lines", f"{TASKS:,} archived tasks"
    yield Result(f"a frequent word in {of_lines}: first 200 (s)", "the limit", measured["first_lines"], 1.0)
    yield Result(f"a rare word in {of_lines}: all (s)", "the limit", measured["rare_word"], 5.0)
    yield Result(f"a regular expression in {of_lines}: all (s)", "the limit", measured["regex"], 5.0)
    yield Result(f"a task's story among {of_tasks} (s, 95 %)", "the limit", measured["story"], 0.5)
    yield Result(f"an error's page among {of_tasks} (s, 95 %)", "the limit", measured["error"], 0.5)
    yield Result(f"a part of a key in {of_tasks}: first page (s)", "its budget", measured["keys"], 2.0)
    yield Result("memory of these searches, MiB", "before", measured["memory"], 200)


if __name__ == "__main__":
    sys.exit(main())
