"""REST API of projects and of the list of clusters. replay/ has the API of a cluster."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from observatory.clusters import access
from observatory.clusters.accounts.models import Membership
from observatory.clusters.listing import ClusterFilter, find_clusters
from observatory.clusters.models import Cluster, Project
from observatory.store.queries.extents import Extent, extents

MAXIMUM_PAGE_SIZE = 200

router = Router(tags=["clusters"])


class ProjectOut(Schema):
    name: str
    slug: str
    retention_days: int
    quota_bytes: int | None
    """most that is stored of it; null: no limit"""
    stored_bytes: int | None
    """of a project with a quota, counted each hour"""
    role: str
    """viewer, editor or owner; superuser for a superuser who is not a member"""


class ClusterQuery(Schema):
    search: Annotated[str, Field(max_length=200)] = ""
    state: Literal["all", "live", "ended", "errors"] = "all"
    project: Annotated[str, Field(max_length=100)] = ""
    alert: Annotated[str, Field(max_length=100)] = ""
    """name of an alert rule that fired"""
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: Annotated[int, Field(ge=1, le=MAXIMUM_PAGE_SIZE)] = 50


class ClusterOut(Schema):
    """Times are seconds since the epoch on the scheduler's clock."""

    id: int
    name: str
    project: str
    target: str | None
    scheduler_id: str
    address: str
    started: float
    last_seen: float
    ended: float | None
    end_reason: str
    worker_count: int
    task_count: int
    error_count: int


class ClusterPage(Schema):
    items: list[ClusterOut]
    count: int
    page: int
    pages: int


@router.get("/projects", response=list[ProjectOut])
def list_projects(request: HttpRequest) -> list[dict[str, Any]]:
    """The projects that you have access to."""
    user = cast(User, request.user)
    roles = dict(Membership.objects.filter(user=user).values_list("project_id", "role"))
    return [
        _project(project, roles.get(project.pk, "superuser")) for project in access.visible_projects(user)
    ]


@router.get("/clusters", response=ClusterPage)
def list_clusters(request: HttpRequest, query: Query[ClusterQuery]) -> dict[str, Any]:
    """The matching clusters that you may see, newest first. A page beyond the last returns the last."""
    wanted = ClusterFilter(query.search, query.state, query.project, query.alert)
    found = Paginator(find_clusters(cast(User, request.user), wanted), query.page_size)
    page = found.get_page(query.page)
    counts = extents([cluster.pk for cluster in page])
    return {
        "items": [_cluster(cluster, counts.get(cluster.pk)) for cluster in page],
        "count": found.count,
        "page": page.number,
        "pages": found.num_pages,
    }


def _project(project: Project, role: str) -> dict[str, Any]:
    return {
        "name": project.name,
        "slug": project.slug,
        "retention_days": project.retention_days,
        "quota_bytes": project.quota_bytes,
        "stored_bytes": project.stored_bytes if project.quota_bytes is not None else None,
        "role": role,
    }


def _cluster(cluster: Cluster, counts: Extent | None) -> dict[str, Any]:
    return {
        "id": cluster.pk,
        "name": cluster.name,
        "project": cluster.project.slug,
        "target": cluster.target.name if cluster.target else None,
        "scheduler_id": cluster.scheduler_id,
        "address": cluster.address,
        "started": cluster.started.timestamp(),
        "last_seen": cluster.last_seen.timestamp(),
        "ended": seconds(cluster.ended),
        "end_reason": cluster.end_reason,
        "worker_count": counts.workers if counts else 0,
        "task_count": counts.tasks if counts else 0,
        "error_count": counts.errors if counts else 0,
    }


def seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()
