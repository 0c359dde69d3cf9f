"""What a writer stores of a live cluster while another cluster is archived, beside storing alone.

Prints one JSON line; the exit code is 1 if the limit was missed. TASKS sets the size of what is archived.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from django.conf import settings
from django.db import connection

from benchmarks.measuring.django_setup import set_up

set_up()

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.runs.synthetic import Shape, batches  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.store.archive import catalogue  # noqa: E402
from observatory.store.archive.rounds.round import archive_round  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.times import from_seconds  # noqa: E402

DATABASE = "observatory_archive_ingest"
TASKS = int(os.environ.get("TASKS", "500000"))
ROUNDS, INGEST_SECONDS, STARTING = 3, 20.0, 6.0
"""seconds; the last of a process, until it archives"""
BATCHES = 361
"""of an hour"""
LEAST_INGEST = 0.9


def archive_again_and_again(folder: str, stopping: Event) -> None:
    """In a process of its own, as Celery's worker: write the files of all ended clusters, then once more."""
    settings.ARCHIVE = folder
    connection.settings_dict["NAME"] = DATABASE
    while not stopping.is_set():
        with connect() as own:
            catalogue.leave_all(own)
        archive_round(INGEST_SECONDS)


@contextmanager
def archiving(folder: str) -> Iterator[None]:
    processes = get_context("spawn")
    stopping = processes.Event()
    process = processes.Process(target=archive_again_and_again, args=(folder, stopping))
    process.start()
    time.sleep(STARTING)
    try:
        yield
        assert process.is_alive(), "nothing was archived"
    finally:
        stopping.set()
        process.join()


def store(name: str, tasks: int, seconds: float, ended: bool) -> float:
    """Store a cluster, for INGEST_SECONDS at most unless it has `ended`; returns records a second."""
    start = time.time() - (2 if ended else 1) * 3_600
    cluster = Cluster.objects.create(
        project=Project.objects.get(),
        scheduler_id=f"benchmark-{name}",
        name=name,
        started=from_seconds(start),
        last_seen=from_seconds(start),
        ended=from_seconds(start + 60) if ended else None,
    )
    made = batches(Shape(name, 50, tasks, 3_600), cluster.pk, start)
    prepared = list(islice(made, BATCHES))
    records = 0
    began = time.perf_counter()
    with Writer() as writer:
        for batch in prepared:
            records += len(batch)
            writer.write(batch)
            if not ended and time.perf_counter() - began > seconds:
                break
    return records / (time.perf_counter() - began)


def measure(folder: str) -> dict[str, Any]:
    Project.objects.create(name="Ingest", slug="ingest")
    store("ended", TASKS, 0, ended=True)
    alone, beside = [], []
    for number in range(ROUNDS):
        alone.append(store(f"alone {number}", TASKS, INGEST_SECONDS, ended=False))
        with archiving(folder):
            beside.append(store(f"beside {number}", TASKS, INGEST_SECONDS, ended=False))
    return {"alone": alone, "beside": beside}


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE), tempfile.TemporaryDirectory() as folder:
        settings.ARCHIVE = folder
        measured = measure(folder)
    ratio = statistics.median(measured["beside"]) / statistics.median(measured["alone"])
    result = Result("ingest while a cluster is archived", "ingest alone", ratio, LEAST_INGEST, at_least=True)
    return print_results("archive_ingest", [result], ["psycopg", "pyarrow"], **measured)


if __name__ == "__main__":
    sys.exit(main())
