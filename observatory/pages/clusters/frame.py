"""Context that all pages of a cluster share."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest

from observatory.clusters import access
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.queries.extents import extents
from observatory.store.queries.tasks.history import agent_coverage


def get_cluster(request: HttpRequest, cluster_id: int) -> Cluster:
    """Raises Http404, the same for a cluster that doesn't exist and for one that the user may not see."""
    return access.get_cluster(cast(User, request.user), cluster_id)


def frame(cluster: Cluster, tab: str) -> dict[str, Any]:
    """Context of pages/clusters/base.html; `tab` is the open one."""
    extent = extents([cluster.pk]).get(cluster.pk)
    return {
        "cluster": cluster,
        "current_project": cluster.project,
        "tab": tab,
        "error_count": extent.errors if extent else 0,
    }


def record_frame(cluster: Cluster, tab: str) -> dict[str, Any]:
    """`frame` and the agent's report; without an agent, pages of records say why they are empty."""
    with read_connection() as connection:
        return {**frame(cluster, tab), "agent": agent_coverage(connection, cluster.pk)}
