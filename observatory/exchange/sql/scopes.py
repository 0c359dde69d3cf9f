"""The clusters that a query of somebody sees."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from observatory.clusters.models import Cluster
from observatory.store.sql.sources import FIRST, LAST, QueryScope


def scope_of(
    visible: QuerySet[Cluster],
    clusters: Collection[int] = (),
    project: str = "",
    after: datetime | None = None,
    before: datetime | None = None,
) -> QueryScope:
    """Of the visible clusters those that are named; all, if none is. Raises LookupError."""
    found = visible
    if project:
        found = found.filter(project__slug=project)
    if clusters:
        found = found.filter(pk__in=clusters)
    names = {
        number: (slug, scheduler)
        for number, slug, scheduler in found.values_list("pk", "project__slug", "scheduler_id")
    }
    if missing := sorted(set(clusters) - names.keys()):
        raise LookupError(f"There is no cluster {', '.join(map(str, missing))} that you may see here.")
    if project and not names:
        raise LookupError(f"There is no project {project!r} with clusters that you may see.")
    return QueryScope(names, after or FIRST, before or LAST)
