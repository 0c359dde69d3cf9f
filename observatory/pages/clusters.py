"""The list of clusters, and the timeline page of one."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters import access
from observatory.clusters.listing import STATES, ClusterFilter, find_clusters
from observatory.pages.recorded import cluster_of, frame
from observatory.store.extents import extents

PAGE_SIZE = 50
MAXIMUM_SEARCH_LENGTH = 200


@require_safe
def cluster_list(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    wanted = _wanted(request)
    page = Paginator(find_clusters(user, wanted), PAGE_SIZE).get_page(request.GET.get("page"))
    counts = extents([cluster.pk for cluster in page])
    context: dict[str, Any] = {
        "page": page,
        "rows": [(cluster, counts.get(cluster.pk)) for cluster in page],
        "wanted": wanted,
        "states": STATES,
    }
    if not page.object_list:
        context |= {
            "has_clusters": access.visible_clusters(user).exists(),
            "waiting_for": access.visible_targets(user).filter(enabled=True),
            "may_add": access.projects_to_set_targets_in(user).exists(),
        }
    return render(request, "pages/clusters.html", context)


@require_safe
def cluster_page(request: HttpRequest, cluster_id: int) -> HttpResponse:
    return render(request, "pages/cluster.html", frame(cluster_of(request, cluster_id), "status"))


def _wanted(request: HttpRequest) -> ClusterFilter:
    state = request.GET.get("state", "")
    return ClusterFilter(
        search=request.GET.get("search", "")[:MAXIMUM_SEARCH_LENGTH],
        state=state if state in STATES else "all",
        project=request.GET.get("project", ""),
    )
