"""What goes when a retention that was shortened takes effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.timezone import now

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Run
from observatory.runs.retention.retained_windows import retained_runs, retained_windows
from observatory.store.queries.cluster_rows import count_records_before
from observatory.store.queries.extents import extents

COUNTING = 2.0
"""seconds, after which records are no longer counted"""


@dataclass(frozen=True, slots=True)
class ShorterRetention:
    """A shorter retention of a project that doesn't hold yet."""

    takes_effect: datetime
    before: datetime
    """older records go"""
    clusters: int
    """that lose records"""
    runs: int
    """that lose records; pinned and shared runs keep theirs"""
    records: int
    is_least: bool
    """there are at least so many records"""


def shorter_retention(project: Project) -> ShorterRetention | None:
    """None if the retention that is set holds already."""
    if not project.is_shortened or project.longer_until is None:
        return None
    before = project.longer_until - timedelta(days=project.retention_days)
    clusters = list(Cluster.objects.filter(project=project).values_list("pk", flat=True))
    older = {
        cluster: before
        for cluster, extent in extents(clusters).items()
        if 0 < extent.first < before.timestamp()
    }
    runs = Run.objects.filter(cluster__in=older, start__lt=before).exclude(pk__in=retained_runs(now()))
    records, is_least = count_records_before(older, COUNTING, retained_windows(project))
    return ShorterRetention(project.longer_until, before, len(older), runs.count(), records, is_least)
