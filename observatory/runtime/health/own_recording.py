"""Records Observatory's own metrics as samples of its own cluster, for rules on them."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator

import redis
from django.conf import settings
from django.db.models import Q
from django.utils.timezone import now

from observatory.base import redis_server
from observatory.clusters.live.own_cluster import INTERVAL, own_cluster
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_refusals
from observatory.runtime.health import process_heartbeats as beats
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Sample, Series

_writer, _writing = Writer(), threading.Lock()
"""its session stays: one that begins reads the catalogue, which was most of what this costs"""


def record_own_metrics() -> None:
    cluster, at = own_cluster(), time.time()
    samples = [Sample(series, at, value) for series, value in own_metrics()]
    with _writing:
        _writer.write(Batch.of(cluster.pk, samples=samples, committed=at))
    # shorter in a database of an older version
    intervals = {"identity_interval": INTERVAL, "metrics_interval": INTERVAL}
    Cluster.objects.filter(pk=cluster.pk).update(last_seen=now(), **intervals)


def own_metrics() -> Iterator[tuple[Series, float]]:
    """What can't be read now is left out."""
    yield from _disk()
    yield from _celery()
    yield from _refused_agents()
    yield from _quotas()


def _disk() -> Iterator[tuple[Series, float]]:
    try:
        yield Series("observatory_disk_free_bytes"), shutil.disk_usage(settings.DATA_DIR).free
    except OSError:
        return  # this service has no data folder


def _celery() -> Iterator[tuple[Series, float]]:
    try:
        client = redis_server.connect()
        waiting, age = beats.queue_length(client), beats.beat_age(client)
    except redis.RedisError:
        return
    yield Series("observatory_celery_queue_length"), waiting
    if age is not None:
        yield Series("observatory_celery_beat_age_seconds"), age


def _quotas() -> Iterator[tuple[Series, float]]:
    for project in Project.objects.all():
        if (used := project.quota_used) is not None:
            yield Series("observatory_project_quota_ratio", (("project", project.slug),)), used


def _refused_agents() -> Iterator[tuple[Series, float]]:
    """Without those that a silent cluster of their project has an alert for."""
    silent = Cluster.objects.filter(ended=None, agent_silent__isnull=False)
    known = Q(token__project__in=silent.values("project"))
    for refusal in ingest_refusals.current().exclude(known):
        token = refusal.token
        labels = {
            "reason": refusal.reason,
            "project": token.project.slug if token else "",
            "token": token.name if token else "",
        }
        yield Series("observatory_refused_agents", tuple(sorted(labels.items()))), 1.0
