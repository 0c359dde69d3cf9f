"""Quotas of projects: what is beyond them goes as if the project's retention were shorter."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from observatory.clusters.formatting import format_bytes
from observatory.clusters.models import Cluster, Project
from observatory.runs.retention.retained_windows import retained_windows
from observatory.store.connection import connect
from observatory.store.maintenance.stored_bytes import stored_bytes

log = logging.getLogger(__name__)

WARNED = 0.8
"""share of its quota from which a project is warned of"""
LEFT = 0.95
"""of a quota that is left: not each hour has to remove some"""
LAST_HOUR = timedelta(hours=1)
"""is never removed: that of live clusters"""
DAY = timedelta(days=1)


def days_within_quotas(projects: Iterable[Project], now: datetime) -> dict[int, float]:
    """For how many days records can be kept, by project with more than its quota; saves what is stored.

    Raises psycopg.Error.
    """
    days: dict[int, float] = {}
    for project in projects:
        quota = project.quota_bytes
        if quota is None:
            continue
        clusters = list(Cluster.objects.filter(project=project).values_list("pk", flat=True))
        with connect() as connection:
            stored = stored_bytes(connection, clusters)
        Project.objects.filter(pk=project.pk).update(stored_bytes=stored.total)
        if stored.total <= quota:
            continue
        cutoff = stored.cutoff(round(quota * LEFT), now - LAST_HOUR, retained_windows(project))
        if cutoff is not None:
            log.warning(
                "project %s stores %d bytes, its quota is %d: records from before %s are removed",
                project.slug,
                stored.total,
                quota,
                cutoff,
            )
            days[project.pk] = (now - cutoff) / DAY
    return days


def quota_sentence(project: Project) -> str:
    """What a project stores of its quota; "" without one."""
    if project.quota_bytes is None:
        return ""
    quota = format_bytes(project.quota_bytes)
    if project.quota_used is None or project.stored_bytes is None:
        return f"The project may store {quota}; beyond that its oldest records go."
    says = f"{format_bytes(project.stored_bytes)} of the project's quota of {quota} are used"
    if project.quota_used < WARNED:
        return f"{says}."
    return (
        f"{says}: beyond it the oldest records go. Pinned and shared runs keep theirs, and count. Delete or "
        "unpin what nobody needs, or ask an administrator for more."
    )


def full_projects() -> list[Project]:
    """Those with a quota that is nearly used up, or is."""
    return [project for project in Project.objects.all() if (project.quota_used or 0.0) >= WARNED]
