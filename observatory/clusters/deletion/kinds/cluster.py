"""Clusters that ended, with their records in the store."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse

from observatory.clusters import access
from observatory.clusters.deletion.amounts import Amount
from observatory.clusters.deletion.kind import (
    Belongings,
    Deletable,
    ReportProgress,
    register,
    register_belongings,
)
from observatory.clusters.models import Cluster
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries.cluster_rows import ClusterRows, count_rows


class DeletableCluster(Deletable):
    name, model = "cluster", Cluster
    refusal = "Only owners of a project can delete its clusters."

    def seen(self, user: User) -> QuerySet[Cluster]:
        return access.visible_clusters(user)

    def may_delete(self, user: User, subject: Cluster) -> bool:
        return access.may_manage(user, subject.project)

    def referred(self, reference: str) -> QuerySet[Cluster]:
        number = int(reference) if reference.isdecimal() and len(reference) < 10 else 0
        return Cluster.objects.filter(pk=number)

    def page_of(self, subject: Cluster) -> str:
        return reverse("cluster", args=[subject.pk])

    def obstacle(self, subject: Cluster) -> str:
        if subject.project.is_own:
            return "It is Observatory itself."
        if not subject.is_live:
            return ""
        return f"It is live and would be recorded again at once. {_how_to_end(subject)}"


def _how_to_end(cluster: Cluster) -> str:
    steps = []
    if cluster.target is not None and cluster.target.enabled:
        steps.append(f"pause or remove its target “{cluster.target.name}”")
    if cluster.agent_heard is not None:
        steps.append("stop its scheduler or revoke the ingest token of its agent")
    if not steps:
        return "It ends within seconds: try again."
    return f"First {' and '.join(steps)}. It has ended within two minutes then."


class StoredRecords(Belongings):
    """The records of clusters, their workers and cached tiles."""

    model = Cluster

    def amounts(self, rows: QuerySet[Any], seconds: float) -> list[Amount]:
        return _amounts(count_rows(list(rows.values_list("pk", flat=True)), seconds))

    def remove(self, number: int, report_progress: ReportProgress) -> list[Amount]:
        return _amounts(delete_cluster(number, report_progress))


def _amounts(rows: ClusterRows) -> list[Amount]:
    return [
        Amount("records", rows.records, is_least=rows.is_least, singular="record"),
        Amount("workers", rows.workers, singular="worker"),
        Amount("cached tiles", rows.tiles, rows.tile_bytes, singular="cached tile"),
    ]


register(DeletableCluster())
register_belongings(StoredRecords())
