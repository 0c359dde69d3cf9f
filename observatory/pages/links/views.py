"""Pages behind links to runs. Links for members redirect to the run; public links show only the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from observatory.alerts.web.fired import fired_of
from observatory.comparison.card.drawing import drawn_card
from observatory.replay.pseudonyms import Pseudonyms
from observatory.replay.scope import Scope
from observatory.replay.tabs import tab_named
from observatory.runs.access import get_run
from observatory.runs.models import Permalink
from observatory.runs.other_work import other_work_in
from observatory.runs.sharing.links import count_opening, find_link, find_public_link
from observatory.runs.sharing.picture import HEIGHT, WIDTH, cached_picture
from observatory.runs.sharing.places import shown_place
from observatory.runs.sharing.scopes import scope_of_link
from observatory.runs.summary import summary
from observatory.store.connection import read_connection
from observatory.store.queries.tasks.errors import ErrorFilter, TaskError, task_errors
from observatory.store.times import from_microseconds

ERRORS = 200
"""on one page"""


@login_not_required
@require_safe
def link_page(request: HttpRequest, token: str) -> HttpResponse:
    link = find_link(token)
    if link.audience == Permalink.Audience.MEMBERS:
        return _to_run(request, link)
    scope = scope_of_link(link)
    if not request.META["QUERY_STRING"] and (place := shown_place(scope, link.place)):
        return HttpResponseRedirect(f"{request.path}?{place}")
    if request.method == "GET":
        count_opening(link)
    origin = f"{request.scheme}://{request.get_host()}"
    context = {
        **_frame(link, scope, token, tab_named(request.GET.get("tab"))),
        "source": {"url": f"{settings.SUB_PATH}/api/v1/r/{token}"},
        "card": drawn_card(link.run, scope),
        "fired": fired_of(link.run, scope),
        "summary": summary(link.run),
        "page_url": f"{origin}{reverse('link', args=[token])}",
        "picture_url": f"{origin}{reverse('link-picture', args=[token])}",
        "picture_size": (WIDTH, HEIGHT),
    }
    return _private(render(request, "pages/links/link.html", context))


@login_not_required
@require_safe
def link_picture(request: HttpRequest, token: str) -> HttpResponse:
    """Preview picture for sites where the link is posted."""
    link = find_public_link(token)
    return _private(HttpResponse(cached_picture(link.run, scope_of_link(link)), content_type="image/png"))


@login_not_required
@require_safe
def link_logs(request: HttpRequest, token: str) -> HttpResponse:
    """The logs are a tab of the timeline; links from before that lead to it."""
    link = find_public_link(token)
    if not link.shows_logs:
        raise Http404("This link doesn't share log lines.")
    return _private(HttpResponseRedirect(f"{reverse('link', args=[token])}?tab=logs"))


@login_not_required
@require_safe
def link_errors(request: HttpRequest, token: str) -> HttpResponse:
    link = find_public_link(token)
    if not link.shows_tracebacks:
        raise Http404("This link doesn't share errors.")
    scope = scope_of_link(link)
    with read_connection() as connection:
        wanted = ErrorFilter(**_window(scope), others=other_work_in(connection, scope, scope.stop))
        errors = task_errors(connection, link.run.cluster_id, wanted, ERRORS + 1, None, with_tracebacks=True)
    shown = [_hide_in_error(error, scope.pseudonyms) for error in errors[:ERRORS]]
    context = {**_frame(link, scope, token, "errors"), "errors": shown, "has_more": len(errors) > ERRORS}
    return _private(render(request, "pages/links/errors.html", context))


def _hide_in_error(error: TaskError, pseudonyms: Pseudonyms | None) -> TaskError:
    if pseudonyms is None:
        return error
    text, worker = pseudonyms.text, pseudonyms.worker
    return replace(
        error,
        prefix=text(error.prefix),
        key=text(error.key),
        exception_type=text(error.exception_type),
        message=text(error.message),
        traceback=text(error.traceback),
        function=text(error.function),
        arguments=text(error.arguments),
        worker=worker(error.worker),
        workers=[worker(address) for address in error.workers],
    )


def _to_run(request: HttpRequest, link: Permalink) -> HttpResponse:
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    run = get_run(request.user, link.run_id)
    count_opening(link)
    place = request.META["QUERY_STRING"] or link.place
    return HttpResponseRedirect(f"{reverse('run', args=[run.pk])}{place and f'?{place}'}")


def _frame(link: Permalink, scope: Scope, token: str, tab: str) -> dict[str, Any]:
    return {
        "token": token,
        "name": scope.text(link.run.name),
        "tab": tab,
        "sections": scope.sections,
        "has_errors": link.shows_tracebacks,
    }


def _window(scope: Scope) -> dict[str, Any]:
    return {"start": from_microseconds(scope.start), "stop": from_microseconds(scope.stop)}


def _private(response: HttpResponse) -> HttpResponse:
    """Keeps the page out of caches, where it would outlive the link, and of search engines and referrers."""
    response["Cache-Control"] = "private, no-store"
    response["X-Robots-Tag"] = "noindex"
    response["Referrer-Policy"] = "no-referrer"
    return response
