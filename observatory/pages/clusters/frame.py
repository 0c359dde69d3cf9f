"""Context that all pages of a cluster share."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse

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


def worker_pages_url(cluster: Cluster) -> str:
    """What the URLs of Dask's own pages of its workers begin with; "" where there are none."""
    if not settings.WORKER_PAGES or not cluster.is_live:
        return ""
    return f"{reverse('cluster', args=[cluster.pk])}workers/"


def record_frame(cluster: Cluster, tab: str) -> dict[str, Any]:
    """`frame` and the agent's report; without an agent, pages of records say why they are empty."""
    with read_connection() as connection:
        return {**frame(cluster, tab), "agent": agent_coverage(connection, cluster.pk)}
