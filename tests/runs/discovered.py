"""Runs that came by themselves, and clusters that go quiet or end."""

from __future__ import annotations

from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import Sample, Series

PROCESSING = Series("observatory_cluster_tasks", (("state", "processing"),))


def windows(cluster: Cluster, since: float) -> list[tuple[float, float | None]]:
    """Of the runs, in order of their start, in seconds since an instant; None: it goes on."""
    runs = cluster.runs.order_by("start")
    return [
        (run.start.timestamp() - since, run.stop.timestamp() - since if run.stop else None) for run in runs
    ]


def only(cluster: Cluster) -> Run:
    return cluster.runs.get()


def quiet(writer: Writer, cluster: Cluster, until: float, processing: int = 0) -> None:
    """Nothing more is done until then, as far as the scheduler tells."""
    writer.write(Batch.of(cluster.pk, samples=[Sample(PROCESSING, until, processing)], committed=until))


def end(cluster: Cluster, time: float, reason: str = "the scheduler closed") -> None:
    Cluster.objects.filter(pk=cluster.pk).update(ended=from_seconds(time), end_reason=reason)
