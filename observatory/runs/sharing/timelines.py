"""Timeline APIs of runs and public links, with the same endpoints as that of a cluster."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from observatory.replay.api import timeline_router
from observatory.replay.scope import Scope
from observatory.runs.access import get_run
from observatory.runs.sharing.links import find_public_link
from observatory.runs.sharing.scopes import scope_of_link, scope_of_run


def _argument(request: HttpRequest, name: str) -> Any:
    assert request.resolver_match is not None
    return request.resolver_match.kwargs[name]


def requested_run(request: HttpRequest) -> Scope:
    """Scope of the run in the URL. Raises Http404 as get_run does."""
    assert request.user.is_authenticated
    return scope_of_run(get_run(request.user, _argument(request, "run_id")))


def requested_link(request: HttpRequest) -> Scope:
    """Scope of the public link in the URL. Raises Http404 as find_public_link does."""
    return scope_of_link(find_public_link(_argument(request, "token")))


runs = timeline_router("run", requested_run)
links = timeline_router("link", requested_link, auth=None)
