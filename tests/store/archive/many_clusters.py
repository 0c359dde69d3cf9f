"""Small clusters, each with a few tasks of its own, that ended long ago."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from observatory.clusters.models import Cluster, Project
from observatory.store.ingest.batches.batch import BatchBuilder
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.head import Head
from observatory.wire.records import Action, Span, WorkerSeen

START = 1_790_020_800.0
ADDRESS = "tcp://10.0.0.1:4000"
TASKS = 5


def key_of(number: int, task: int) -> str:
    return f"('load-{'0' * 32}', {number}, {task})"


def write_clusters(project: Project, numbers: Sequence[int]) -> list[Cluster]:
    """One for each number, which is in its keys; the first of its tasks did not compute."""
    found = []
    with Writer() as writer:
        for number in numbers:
            start = START + 100 * number
            cluster = Cluster.objects.create(
                project=project,
                scheduler_id=f"Scheduler-{uuid.uuid4().hex}",
                name=f"etl {number}",
                started=from_seconds(start),
                last_seen=from_seconds(start + 60),
                ended=from_seconds(start + 60),
            )
            head = Head(uuid.uuid4().hex, 1, cluster.scheduler_id, "etl", "", start, start, start + 60)
            batch = BatchBuilder(cluster.pk, head=head, committed=start + 60)
            batch.workers = [WorkerSeen(ADDRESS, "w0", "10.0.0.1", 2, 2**33, start, "running", {}, {})]
            keys = [key_of(number, task) for task in range(TASKS)]
            batch.rows["task"] = [(start, "c1", key, "(0,)", 0, {}, {}) for key in keys]
            for place, key in enumerate(keys[1:]):
                times = (start + place + 1, start + place + 2)
                batch.add(Span(ADDRESS, 1, key, "load", f"load-{'0' * 32}", Action.COMPUTE, *times))
            writer.write(batch.batch)
            found.append(cluster)
    return found
