"""Stores ended clusters, as their agents left them: workers, spans and samples of half a minute each.

`python -m benchmarks.simulated.ended_clusters COUNT`, with OBSERVATORY_DATA_DIR or DATABASE_URL.
"""

from __future__ import annotations

import os
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
django.setup()

from benchmarks.simulated.stored_cluster import make_stored_cluster  # noqa: E402
from observatory.clusters.models import Project  # noqa: E402
from observatory.collect.collector.clusters.registry import end_cluster  # noqa: E402
from observatory.store.ingest.batches.batch import Batch  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.wire.event_kinds import CLUSTER_ENDED  # noqa: E402
from observatory.wire.records import Action, Event, Sample, Series, Span, Status  # noqa: E402

SECONDS = 30
APART = 2400.0
"""seconds from the start of one cluster to that of the next: a thousand ended within four weeks"""
WORKERS, TASKS = 2, 40


def make_ended(project: Project, number: int, start: float) -> Batch:
    """Make a cluster that ended, and return what it left."""
    cluster, workers = make_stored_cluster(project, number, start, SECONDS, WORKERS)
    addresses = [worker.address for worker in workers]
    spans = [
        Span(
            addresses[task % WORKERS],
            task % 4 // 2 + 1,
            f"inc-{number}-{task}",
            "inc",
            f"inc-{number}",
            Action.COMPUTE,
            start + task / 2,
            start + task / 2 + 0.4,
            28,
            "int",
            Status.OK,
        )
        for task in range(TASKS)
    ]
    series = [Series("observatory_worker_memory_bytes", (), address) for address in addresses]
    series.append(Series("observatory_cluster_busy_threads"))
    samples = [Sample(each, start + second, 1.0) for second in range(SECONDS) for each in series]
    ended = start + SECONDS
    events = [Event(ended, CLUSTER_ENDED, "", {"message": "the scheduler closed"})]
    logs = [
        (start + line, "worker", addresses[0], 20, "jobs", f"file {line} is read", "", 1) for line in range(5)
    ]
    end_cluster(cluster.pk, ended, "the scheduler closed")
    return Batch.of(cluster.pk, workers, spans, samples, events=events, rows={"log": logs})


def main(count: int) -> None:
    project, _ = Project.objects.get_or_create(slug="ended", defaults={"name": "Ended"})
    first = time.time() - 120 - count * APART
    with Writer() as writer:
        for number in range(count):
            writer.write(make_ended(project, number, first + number * APART))


if __name__ == "__main__":
    main(int(sys.argv[1]))
