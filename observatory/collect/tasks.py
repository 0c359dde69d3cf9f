"""What Celery does for the agents: ends the clusters of those that fell silent."""

from __future__ import annotations

from celery import shared_task

from observatory.collect.collector import registry
from observatory.store.ingest.batch import Batch
from observatory.store.ingest.publication import publish_sync
from observatory.store.ingest.resumption import open_workers
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Event, WorkerGone

SILENCE = 120.0
"""seconds without a batch, which a living agent sends each second or so"""
REASON = "its agent fell silent"


@shared_task  # type: ignore[untyped-decorator]
def end_silent_clusters() -> None:
    """Ends each at its newest record. Should its agent be heard again, it goes on."""
    with Writer() as writer:
        for cluster in registry.silent_clusters(SILENCE):
            ended = cluster.last_seen.timestamp()
            gone = [WorkerGone(address, ended, "cluster-ended") for address in open_workers(cluster.pk)]
            event = Event(ended, "cluster-ended", "", {"message": REASON})
            committed = writer.write(Batch.of(cluster.pk, events=[event], gone=gone))
            registry.end_cluster(cluster.pk, ended, REASON)
            publish_sync(committed, {"ended": ended, "end_reason": REASON, "stream": "agent"})
