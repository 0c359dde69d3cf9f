"""The list of clusters, and the timeline of a cluster."""

from __future__ import annotations

import time
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from observatory.alerts.web.access import visible_rules
from observatory.alerts.web.flags import flags_of_clusters
from observatory.alerts.web.links import new_rule_url
from observatory.base.pages import page_of_rows
from observatory.clusters import access
from observatory.clusters.listing import STATES, ClusterFilter, find_clusters
from observatory.clusters.live.unheard import unheard_seconds, unheard_text
from observatory.clusters.models import Cluster
from observatory.pages.clusters.fleet import COLUMNS as FLEET_COLUMNS
from observatory.pages.clusters.fleet import FleetRow, fleet_csv, fleet_rows, order_of, totals_of
from observatory.pages.clusters.frame import frame, get_cluster, worker_pages_url
from observatory.pages.site.csv import MOST_ROWS, csv_response, wants_csv
from observatory.pages.site.ordering import sorted_column
from observatory.pages.site.query import query_text
from observatory.replay.tabs import tab_named
from observatory.runs.access import may_cut_runs
from observatory.store.queries.extents import Extent, extents

PAGE_SIZE, FLEET_PAGE_SIZE = 50, 100
MAXIMUM_SEARCH_LENGTH = 200


@require_safe
def cluster_list(request: HttpRequest) -> HttpResponse:
    """The clusters, newest first; the live ones with their newest figures, first what needs attention."""
    user = cast(User, request.user)
    wanted = _wanted(request)
    is_fleet = wanted.state == "live"
    if wants_csv(request):
        order = order_of(request.GET.get("order", ""))
        return fleet_csv(fleet_rows(user, wanted, order)) if is_fleet else _csv(find_clusters(user, wanted))
    page, listed = _fleet(request, wanted) if is_fleet else _list(request, wanted)
    context: dict[str, Any] = {
        **listed,
        "page": page,
        "wanted": wanted,
        "states": STATES,
        "rules": visible_rules(user),
        "may_add": access.projects_to_set_targets_in(user).exists(),
    }
    if not page.object_list:
        context |= {
            "has_clusters": access.visible_clusters(user).exists(),
            "waiting_for": access.visible_targets(user).filter(enabled=True),
            "last_ended": access.visible_clusters(user).exclude(ended=None).order_by("-ended").first(),
        }
    return render(request, "pages/clusters/clusters.html", context)


def _list(request: HttpRequest, wanted: ClusterFilter) -> tuple[Page[Cluster], dict[str, Any]]:
    found = find_clusters(cast(User, request.user), wanted)
    page = page_of_rows(found, PAGE_SIZE, request.GET.get("page"))
    ids = [cluster.pk for cluster in page]
    counts, flags = extents(ids), flags_of_clusters(ids)
    at = time.time()
    rows = [
        (
            cluster,
            counts.get(cluster.pk),
            flags.get(cluster.pk),
            unheard_text(unheard_seconds(cluster, at)),
        )
        for cluster in page
    ]
    return page, {"rows": rows}


def _fleet(request: HttpRequest, wanted: ClusterFilter) -> tuple[Page[FleetRow], dict[str, Any]]:
    order = order_of(request.GET.get("order", ""))
    found = fleet_rows(cast(User, request.user), wanted, order)
    columns = [sorted_column(*column, order) for column in FLEET_COLUMNS]
    return (
        Paginator(found, FLEET_PAGE_SIZE).get_page(request.GET.get("page")),
        {"totals": totals_of(found), "columns": columns, "order": order},
    )


def _csv(found: QuerySet[Cluster]) -> HttpResponse:
    clusters = list(found[: MOST_ROWS + 1])
    counts = extents([cluster.pk for cluster in clusters])
    header = (
        *("id", "name", "project", "target", "address"),
        *("started", "ended", "end reason", "workers", "tasks", "errors"),
    )
    rows = (
        (
            cluster.pk,
            cluster.name,
            cluster.project.name,
            cluster.target.name if cluster.target else "",
            cluster.address,
            cluster.started,
            cluster.ended,
            cluster.end_reason,
            *_amounts(counts.get(cluster.pk)),
        )
        for cluster in clusters
    )
    return csv_response("clusters", header, rows)


def _amounts(extent: Extent | None) -> tuple[int, int, int]:
    return (extent.workers, extent.tasks, extent.errors) if extent else (0, 0, 0)


@require_safe
def newest_cluster(request: HttpRequest) -> HttpResponse:
    """Redirects to the newest cluster named `name`; to the list, which shows it later, if there is none."""
    found = access.visible_clusters(cast(User, request.user)).filter(name=query_text(request, "name"))
    newest = found.order_by("-started", "-pk").first()
    return redirect("cluster", newest.pk) if newest else redirect("clusters")


@require_safe
def cluster_page(request: HttpRequest, cluster_id: int) -> HttpResponse:
    cluster = get_cluster(request, cluster_id)
    if cluster.project.is_own:
        # its timeline has no workers and tasks, and its alerts have charts of its values
        return redirect("alerts")
    source = {
        "url": f"{settings.SUB_PATH}/api/v1/clusters/{cluster.pk}",
        "live": f"{settings.SUB_PATH}/ws/clusters/{cluster.pk}/live",
        "has_ended": cluster.ended is not None,
        "pages": reverse("cluster", args=[cluster.pk]),
        "notes": f"{settings.SUB_PATH}/api/v1/clusters/{cluster.pk}/notes",
        "new_rule": new_rule_url(cast(User, request.user), cluster),
        "worker_pages": worker_pages_url(cluster),
    }
    may_write = may_cut_runs(cast(User, request.user), cluster)
    context = {**frame(cluster, tab_named(request.GET.get("tab"))), "source": source, "may_write": may_write}
    return render(request, "pages/clusters/cluster.html", context)


def _wanted(request: HttpRequest) -> ClusterFilter:
    state = request.GET.get("state", "")
    return ClusterFilter(
        search=request.GET.get("search", "")[:MAXIMUM_SEARCH_LENGTH],
        state=state if state in STATES else "all",
        project=request.GET.get("project", ""),
        alert=request.GET.get("alert", "")[:MAXIMUM_SEARCH_LENGTH],
    )
