"""Context of the header, on all pages."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from observatory import __version__
from observatory.alerts.web.listing import firing
from observatory.clusters.access import Person, visible_projects
from observatory.clusters.models import Project
from observatory.store.outages.free_space import storage_faults

MAXIMUM_PROJECTS_IN_SWITCHER = 50


def navigation(request: HttpRequest) -> dict[str, Any]:
    """`switcher`: the projects to choose from; `current_project`: the one that `?project=` names, or None;
    `firing`: the alerts of the cluster whose page it is, and all others; `own_fault`: why Observatory itself
    stores nothing; `version`: of Observatory; `has_passwords`: whether people sign in with passwords;
    `has_admin`: whether `user` may open the admin."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    projects = visible_projects(user)
    return {
        "version": __version__,
        "has_passwords": settings.PASSWORD_SIGN_IN,
        "has_admin": lambda: admin.site.has_permission(request),
        "switcher": lambda: projects[:MAXIMUM_PROJECTS_IN_SWITCHER],
        "current_project": lambda: _current(request, projects),
        **firing_flag(user, _cluster(request)),
    }


def firing_flag(user: Person, cluster: int | None) -> dict[str, Any]:
    """Context of alerts/alert_flag.html."""
    return {
        "flag_cluster": cluster,
        "firing": SimpleLazyObject(lambda: firing(user, cluster)),
        "own_fault": lambda: storage_faults().sentence,
    }


def _cluster(request: HttpRequest) -> int | None:
    """The id in the URL."""
    return request.resolver_match.kwargs.get("cluster_id") if request.resolver_match else None


def _current(request: HttpRequest, projects: Any) -> Project | None:
    slug = request.GET.get("project", "")
    # the error page for a NUL in the query string has this header, too
    return projects.filter(slug=slug).first() if slug and "\0" not in slug else None
