"""Errors of all runs and clusters by exception and place in the code, and the runs with one of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from observatory.pages.site.csv import MOST_ROWS, csv_response, wants_csv
from observatory.pages.site.query import query_text
from observatory.runs.access import visible_runs
from observatory.runs.errors.listing import ErrorKindFilter, error_kinds, find_errors, with_newest

KINDS, RUNS = 50, 50
"""on one page"""
PERIODS = {"1": "Day", "7": "Week", "30": "Month", "": "All"}
"""by days"""
USUAL_PERIOD = "30"


@require_safe
def error_kind_list(request: HttpRequest) -> HttpResponse:
    """The kinds of errors or, with `type` and `place` in the query string, the runs with this kind."""
    user = cast(User, request.user)
    days = request.GET.get("days", USUAL_PERIOD)
    days = days if days in PERIODS else USUAL_PERIOD
    wanted = ErrorKindFilter(
        text=query_text(request, "text"),
        project=query_text(request, "project"),
        since=now() - timedelta(days=int(days)) if days else None,
    )
    if wants_csv(request):
        return _csv(user, wanted)
    context = {
        "wanted": wanted,
        "days": days,
        "periods": PERIODS.items(),
        "is_filtered": bool(wanted.text or wanted.project),
        "has_runs": visible_runs(user).exists(),
    }
    is_one = "type" in request.GET and "place" in request.GET
    listed = _runs_of_kind(request, user, wanted) if is_one else _kinds(request, user, wanted)
    return render(request, "pages/errors/kinds.html", {**context, **listed})


def _kinds(request: HttpRequest, user: User, wanted: ErrorKindFilter) -> dict[str, Any]:
    page = Paginator(error_kinds(user, wanted), KINDS).get_page(request.GET.get("page"))
    return {"page": page, "kinds": with_newest(user, wanted, list(page))}


def _runs_of_kind(request: HttpRequest, user: User, wanted: ErrorKindFilter) -> dict[str, Any]:
    same = {"exception_type": query_text(request, "type"), "place": query_text(request, "place")}
    rows = list(error_kinds(user, wanted).filter(**same))
    found = find_errors(user, wanted).filter(**same)
    found = found.select_related("run__cluster__project", "run__findings")
    page = Paginator(found.order_by("-last", "-pk"), RUNS).get_page(request.GET.get("page"))
    kinds = with_newest(user, wanted, rows)
    return {"page": page, "kind": kinds[0] if kinds else None, "of_runs": page}


def _csv(user: User, wanted: ErrorKindFilter) -> HttpResponse:
    """A row for each kind and run."""
    found = find_errors(user, wanted).select_related("run__cluster__project").order_by("-last", "-pk")
    header = (
        *("exception", "function", "file", "line", "prefix", "errors", "retried", "killed", "first", "last"),
        *("message", "run", "cluster", "project"),
    )
    rows = (
        (
            error.exception_type,
            error.function,
            error.file,
            error.line or None,
            error.prefix,
            error.count,
            error.retried,
            error.killed,
            error.first,
            error.last,
            error.message,
            error.run.name,
            error.run.cluster.name,
            error.run.cluster.project.name,
        )
        for error in found[: MOST_ROWS + 1]
    )
    return csv_response("errors", header, rows)
