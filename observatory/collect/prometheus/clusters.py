"""Clusters that only a Prometheus reports: found by their labels."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from observatory.clusters.models import Cluster, Project
from observatory.collect.collector.clusters.registry import MOST_CLUSTERS, TooManyClusters, source_of
from observatory.store.ingest.source_limits import SOURCE_LIMITS, Rows
from observatory.store.times import from_seconds

PREFIX = "prometheus:"
"""of the id: Prometheus doesn't tell the scheduler's"""
GAP = timedelta(minutes=5)
"""without samples of Dask, after which those that follow are of another cluster"""


def is_of_prometheus(cluster: Cluster) -> bool:
    return cluster.scheduler_id.startswith(PREFIX)


def cluster_of_labels(
    project: Project, name: str, first: float, address: str, interval: float, may_begin: bool
) -> Cluster | None:
    """The cluster that has samples of this name at `first` (seconds); None if it may not begin.

    `interval`: seconds between two scrapes. Raises TooManyClusters and TooManyNew.
    """
    begin = f"{PREFIX}{hashlib.sha256(name.encode()).hexdigest()[:16]}:"
    at = from_seconds(first)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)  # requests come several at a time
        clusters = Cluster.objects.filter(project=project, scheduler_id__startswith=begin)
        # late samples are of the cluster that was there then
        known = clusters.filter(started__lte=at + GAP).order_by("-started").first()
        if known is not None and (known.ended is None or at <= known.ended + GAP):
            return known
        if not may_begin:
            return None
        if Cluster.objects.filter(project=project).count() >= MOST_CLUSTERS:
            raise TooManyClusters
        SOURCE_LIMITS.require(source_of(project), Rows.CLUSTERS, 1)
        return Cluster.objects.create(
            project=project,
            scheduler_id=f"{begin}{first:.3f}",
            name=name[:100],
            address=address[:500],
            started=at,
            last_seen=at,
            agent_heard=timezone.now(),
            identity_interval=interval,
            metrics_interval=interval,
        )
