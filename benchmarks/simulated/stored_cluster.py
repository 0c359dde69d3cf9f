"""A cluster in the database with its workers, whose records the caller makes."""

from __future__ import annotations

from observatory.clusters.models import Cluster, Project
from observatory.store.times import from_seconds
from observatory.wire.records import WorkerSeen

GIB = 2**30


def make_stored_cluster(
    project: Project, number: int, start: float, seconds: float, workers: int
) -> tuple[Cluster, list[WorkerSeen]]:
    """Return a cluster that was observed for `seconds` from `start` (seconds), and its workers."""
    cluster = Cluster.objects.create(
        project=project,
        scheduler_id=f"Scheduler-{number}",
        name=f"cluster {number}",
        started=from_seconds(start),
        last_seen=from_seconds(start + seconds),
        agent_heard=from_seconds(start + seconds),
    )
    addresses = [f"tcp://10.0.0.1:{5000 + worker}" for worker in range(workers)]
    return cluster, [WorkerSeen(address, address, "h", 2, 4 * GIB, start) for address in addresses]
