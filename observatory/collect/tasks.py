"""Celery tasks: discoveries; clusters whose recording stopped are noticed, and ended in the end."""

from __future__ import annotations

import time

from celery import shared_task

from observatory.base.redis_server import connect
from observatory.clusters.end_reasons import AGENT_STOPPED, PROMETHEUS_STOPPED
from observatory.clusters.models import Discovery
from observatory.collect.collector.clusters import registry
from observatory.collect.collector.leases.claims import observed_clusters
from observatory.collect.interruptions import listening_for, note_interruptions
from observatory.collect.prometheus.clusters import is_of_prometheus
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.publication import publish_sync
from observatory.store.ingest.writer import Writer
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.records import Event

SILENCE = 120.0
"""Seconds without a batch. A live agent sends about one a second."""
DISCOVERY_INTERVAL = 5.0
"""seconds between two looks at which discoveries are due"""
FOLLOWING = 2
"""looks that follow each scheduled one"""


@shared_task  # type: ignore[untyped-decorator]
def end_silent_clusters() -> None:
    """Ends silent clusters, unless Observatory was away: then their agents could not send."""
    with connect() as server:
        listened = listening_for(server, time.time())
    if listened > SILENCE:
        end_silent()


def end_silent() -> None:
    """Ends each silent cluster at its newest record. It is reopened when its agent sends again.

    One that a collector observes ends by that. A target can have got another address meanwhile.
    """
    silent = registry.silent_clusters(SILENCE)
    with connect() as server:
        observed = observed_clusters(server, [cluster.pk for cluster in silent])
    with Writer() as writer:
        for cluster in silent:
            if cluster.pk in observed:
                continue
            ended = cluster.last_seen.timestamp()
            reason = PROMETHEUS_STOPPED if is_of_prometheus(cluster) else AGENT_STOPPED
            event = Event(ended, CLUSTER_ENDED, "", {"message": reason})
            committed = writer.write(Batch.of(cluster.pk, events=[event]))
            end = registry.end_cluster(cluster.pk, ended, reason)
            publish_sync(committed, {**end, "stream": "agent"})


@shared_task  # type: ignore[untyped-decorator]
def discover(following: int = FOLLOWING) -> None:
    """Asks the discoveries that are due. Without any, none follows until the next scheduled one."""
    if not Discovery.objects.filter(enabled=True).exists():
        return
    from observatory.collect.discovery.due import look_at_due  # pydantic and an HTTP client

    look_at_due()
    if following:
        discover.apply_async((following - 1,), countdown=DISCOVERY_INTERVAL, expires=2 * DISCOVERY_INTERVAL)


@shared_task  # type: ignore[untyped-decorator]
def watch_recording() -> None:
    client = connect()
    note_interruptions(listening_for(client, time.time()))
