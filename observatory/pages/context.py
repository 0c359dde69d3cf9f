"""What every page's header shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from observatory.clusters.access import visible_projects
from observatory.clusters.models import Project

MAXIMUM_PROJECTS_IN_SWITCHER = 50


def navigation(request: HttpRequest) -> dict[str, Any]:
    """`switcher`: the projects to choose from; `current_project`: the one that `?project=` names, or None."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    projects = visible_projects(user)
    return {
        "switcher": lambda: projects[:MAXIMUM_PROJECTS_IN_SWITCHER],
        "current_project": lambda: _current(request, projects),
    }


def _current(request: HttpRequest, projects: Any) -> Project | None:
    slug = request.GET.get("project", "")
    # the page that refuses a NUL has this header too
    return projects.filter(slug=slug).first() if slug and "\0" not in slug else None
