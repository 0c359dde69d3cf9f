"""Task errors of a cluster: groups, a list, and the page of one error."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters.models import Cluster
from observatory.pages.clusters.frame import get_cluster, record_frame
from observatory.pages.site.csv import MOST_ROWS, csv_response, wants_csv
from observatory.pages.site.query import format_position, parse_position, parse_time, query_text
from observatory.replay.task_history import error_with_id, task_history, worker_last_minutes
from observatory.runs.other_work import other_work_of
from observatory.runs.refresh import end_of
from observatory.store.connection import read_connection
from observatory.store.queries.tasks.errors import (
    OUTCOMES,
    ErrorFilter,
    error_groups,
    task_errors,
)
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.other_work import NONE, OtherWork

GROUPS, ERRORS = 50, 50
"""on one page"""
MOST_PAGES = 1_000
LONGEST_NUMBER = 19


@require_safe
def error_list(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Groups of errors or, with a type in the query string, the errors of this type."""
    cluster = get_cluster(request, cluster_id)
    wanted = _wanted(request, cluster)
    if wants_csv(request):
        return _csv(cluster, wanted)
    context = {
        **record_frame(cluster, "errors"),
        "wanted": wanted,
        "outcomes": OUTCOMES,
        "is_filtered": wanted
        != ErrorFilter(
            exception_type=wanted.exception_type, start=wanted.start, stop=wanted.stop, others=wanted.others
        ),
    }
    if wanted.exception_type is None:
        context |= _groups(request, cluster.pk, wanted)
    else:
        context |= _errors(request, cluster.pk, wanted)
    return render(request, "pages/errors/errors.html", context)


@require_safe
def error_page(request: HttpRequest, cluster_id: int, error_id: UUID) -> HttpResponse:
    cluster = get_cluster(request, cluster_id)
    with read_connection() as connection, snapshot(connection):
        error = error_with_id(connection, cluster.pk, error_id)
        if error is None:
            raise Http404("This error doesn't exist, or it is past the project's retention.")
        story = task_history(connection, cluster.pk, error.key)
        minutes = worker_last_minutes(connection, cluster.pk, error, story.transitions)
    context = {
        **record_frame(cluster, "errors"),
        "error": error,
        "story": story,
        "minutes": minutes,
    }
    return render(request, "pages/errors/error.html", context)


def _csv(cluster: Cluster, wanted: ErrorFilter) -> HttpResponse:
    """The filtered errors, not grouped."""
    with read_connection() as connection:
        errors = task_errors(connection, cluster.pk, wanted, MOST_ROWS + 1)
    header = (
        *("time", "exception", "prefix", "key", "outcome", "message", "worker", "retries", "dependents"),
        *("function", "arguments"),
    )
    rows = (
        (
            error.time,
            error.exception_type,
            error.prefix,
            error.key,
            error.outcome,
            error.message,
            error.worker,
            error.retries,
            error.dependents,
            error.function,
            error.arguments,
        )
        for error in errors
    )
    return csv_response(f"{cluster.name} errors", header, rows)


def _groups(request: HttpRequest, cluster: int, wanted: ErrorFilter) -> dict[str, Any]:
    number = request.GET.get("page", "")
    page = min(max(int(number), 1), MOST_PAGES) if number.isdecimal() and len(number) < 9 else 1
    with read_connection() as connection:
        groups = error_groups(connection, cluster, wanted, GROUPS, (page - 1) * GROUPS)
    more = bool(groups) and groups[0].groups > page * GROUPS
    return {"groups": groups, "previous": page - 1, "following": page + 1 if more else 0}


def _errors(request: HttpRequest, cluster: int, wanted: ErrorFilter) -> dict[str, Any]:
    with read_connection() as connection:
        errors = task_errors(connection, cluster, wanted, ERRORS + 1, _position(request))
    older = format_position(errors[ERRORS - 1].time, errors[ERRORS - 1].id) if len(errors) > ERRORS else ""
    return {"errors": errors[:ERRORS], "older": older}


def _position(request: HttpRequest) -> Any:
    position = parse_position(request.GET.get("older", ""))
    try:
        return position and (position[0], UUID(position[1]))
    except ValueError:
        return None


def _wanted(request: HttpRequest, cluster: Cluster) -> ErrorFilter:
    outcome = request.GET.get("outcome", "")
    return ErrorFilter(
        text=query_text(request, "text"),
        prefix=query_text(request, "prefix"),
        outcome=outcome if outcome in OUTCOMES else "",
        exception_type=query_text(request, "type") if "type" in request.GET else None,
        start=parse_time(request.GET.get("from", "")),
        stop=parse_time(request.GET.get("to", "")),
        others=_others(request.GET.get("run", ""), cluster),
    )


def _others(number: str, cluster: Cluster) -> OtherWork:
    """The tasks that aren't those of the run with this number; none where the cluster has no such run."""
    is_number = number.isdecimal() and len(number) < LONGEST_NUMBER
    run = cluster.runs.filter(pk=int(number)).first() if is_number else None
    if run is None:
        return NONE
    with read_connection() as connection:
        return other_work_of(connection, run, end_of(run))
