"""Filters of the list of clusters."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from observatory.clusters.access import Person, visible_clusters
from observatory.clusters.models import Cluster
from observatory.store.queries.extents import extents

STATES = ("all", "live", "ended", "errors")


@dataclass(frozen=True, slots=True)
class ClusterFilter:
    """Conditions on clusters; empty values don't filter."""

    search: str = ""
    """part of a name, a scheduler's id, an address, or a target's name"""
    state: str = "all"
    """one of STATES"""
    project: str = ""
    """slug"""
    alert: str = ""
    """name of an alert rule that fired"""


def find_clusters(user: Person, wanted: ClusterFilter) -> QuerySet[Cluster]:
    """The matching clusters that `user` may see, newest first."""
    clusters = visible_clusters(user)
    if wanted.project:
        clusters = clusters.filter(project__slug=wanted.project)
    if wanted.state in {"live", "ended"}:
        clusters = clusters.filter(ended__isnull=wanted.state == "live")
    for word in wanted.search.split():
        clusters = clusters.filter(
            Q(name__icontains=word)
            | Q(scheduler_id__icontains=word)
            | Q(address__icontains=word)
            | Q(target__name__icontains=word)
        )
    if wanted.alert:
        # a subquery, since several alerts of a cluster can match
        raised = Cluster.objects.filter(alerts__rule__name=wanted.alert, alerts__fired__isnull=False)
        clusters = clusters.filter(pk__in=raised.order_by().values("pk"))
    if wanted.state == "errors":
        found = extents(list(clusters.values_list("pk", flat=True)))
        clusters = clusters.filter(pk__in=[pk for pk, extent in found.items() if extent.errors])
    return clusters.order_by("-started", "-pk")
