"""A run: its card and timeline, and its links."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from observatory.alerts.web.fired import fired_in
from observatory.alerts.web.links import new_rule_url
from observatory.comparison.card.drawing import drawn_card
from observatory.pages.clusters.frame import worker_pages_url
from observatory.pages.runs.forms import LinkForm
from observatory.pages.site.formatting import epoch
from observatory.replay.tabs import tab_named
from observatory.runs.access import get_run, may_change_runs
from observatory.runs.from_code import get_run_from_code
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing import links
from observatory.runs.sharing.scopes import scope_of_run

COUNTING_REFRESH, OPEN_REFRESH = 5, 30
"""seconds between two refreshes of the card of a run without figures, and of an open one"""


def run_of(request: HttpRequest, run_id: int) -> Run:
    """Raises Http404, the same for a run that doesn't exist and for one that the user may not see."""
    return get_run(cast(User, request.user), run_id)


def run_frame(request: HttpRequest, run: Run, tab: str) -> dict[str, Any]:
    """Context that all pages of a run share; `tab` is the open one."""
    return {
        "run": run,
        "cluster": run.cluster,
        "current_project": run.cluster.project,
        "tab": tab,
        "may_change": may_change_runs(cast(User, request.user), run),
    }


@require_safe
def run_page(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_of(request, run_id)
    source = {
        "url": f"{settings.SUB_PATH}/api/v1/runs/{run.pk}/timeline",
        "run": run.pk,
        "pages": reverse("cluster", args=[run.cluster_id]),
        "notes": f"{settings.SUB_PATH}/api/v1/clusters/{run.cluster_id}/notes",
        "new_rule": new_rule_url(cast(User, request.user), run.cluster),
        "worker_pages": worker_pages_url(run.cluster),
    }
    frame = run_frame(request, run, tab_named(request.GET.get("tab")))
    if frame["may_change"]:
        source["api"] = f"{settings.SUB_PATH}/api/v1"
    context = {
        **frame,
        "source": source,
        "may_write": frame["may_change"],
        "card": drawn_card(run, scope_of_run(run)),
        "fired": fired_in(run),
        "card_refresh": _card_refresh(run),
        "card_errors_url": _errors_url(run),
    }
    return render(request, "pages/runs/run.html", context)


@require_safe
def run_of_code(request: HttpRequest, code_id: UUID) -> HttpResponse:
    """Leads to the run that client code opened with this id."""
    return redirect("run", run_id=get_run_from_code(cast(User, request.user), code_id).pk)


def _card_refresh(run: Run) -> int | None:
    """Seconds; None for a card that is final."""
    if run.counted is None:
        return COUNTING_REFRESH
    return OPEN_REFRESH if run.is_open else None


def _errors_url(run: Run) -> str:
    """The run's errors, on the page of its cluster's."""
    window = {"run": run.pk, "from": epoch(run.start), **({"to": epoch(run.stop)} if run.stop else {})}
    return f"{reverse('cluster-errors', args=[run.cluster_id])}?{urlencode(window)}"


@require_http_methods(["GET", "HEAD", "POST"])
def run_links(request: HttpRequest, run_id: int) -> HttpResponse:
    """The run's links. POST creates one that opens the view in `place`, the query string of the timeline."""
    run = run_of(request, run_id)
    frame = run_frame(request, run, "links")
    form = LinkForm(initial={"place": request.GET.urlencode()})
    if request.method == "POST":
        if not frame["may_change"]:
            raise PermissionDenied("Only editors and owners of the project can share its runs.")
        form = LinkForm(request.POST)
        if form.is_valid():
            try:
                made = links.make_link(form.new_link(run), cast(User, request.user))
            except ValidationError as error:
                form.add_error(None, error)
            else:
                return redirect(f"{reverse('run-links', args=[run.pk])}?made={made.pk}")
    context = {
        **frame,
        "form": form,
        "links": run.permalinks.select_related("created_by"),
        "made": request.GET.get("made", ""),
        "origin": f"{request.scheme}://{request.get_host()}",
    }
    return render(request, "pages/runs/links.html", context, status=422 if form.errors else 200)


@require_POST
def revoke_link(request: HttpRequest, run_id: int, link_id: int) -> HttpResponse:
    run = run_of(request, run_id)
    if not may_change_runs(cast(User, request.user), run):
        raise PermissionDenied("Only editors and owners of the project can revoke links to its runs.")
    links.revoke(get_object_or_404(Permalink, pk=link_id, run=run))
    return redirect("run-links", run_id=run.pk)
