"""Comparison of two runs, and the history of all runs of a name."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters.access import get_project
from observatory.comparison.history import MEASURES, MOST_RUNS, Measure, Point, history
from observatory.comparison.run_selection import MOST_EARLIER, earlier_runs, runs_of_name, runs_to_compare
from observatory.pages.comparison.tags import change_text
from observatory.pages.site.query import query_text
from observatory.runs.access import get_run, visible_runs

CHOICES = 30
"""runs to choose from"""
USUAL_LAST = 5
"""earlier runs whose median is offered"""
PAGE_SIZE = 50
"""rows of the table below a history, whose chart has all points"""
HISTORY_FIELDS = "start", "stop", "outcome", "tags", "figures", "tasks", "errors", "counted", "cluster__name"
"""of runs, that a history shows"""


@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """Two runs, which the page's script loads from the API; without both runs, a page to choose them."""
    user = cast(User, request.user)
    a, b, last = (_number(request.GET, name) for name in ("a", "b", "last"))
    if a is None or (b is None and last is None):
        return render(request, "pages/comparison/choose.html", _choices(user, a))
    run, others = runs_to_compare(user, a, b, None if last is None else min(max(last, 1), MOST_EARLIER))
    context = {
        "a": run,
        "others": others,
        "b": others[0],
        "is_median": b is None,
        "earlier": len(earlier_runs(user, run, USUAL_LAST)),
        "current_project": run.cluster.project,
        "query": f"a={run.pk}&b={b}" if b is not None else f"a={run.pk}&last={len(others)}",
    }
    return render(request, "pages/comparison/compare.html", context)


@require_safe
def history_page(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    name, project = request.GET.get("name", ""), get_project(user, query_text(request, "project"))
    chosen = request.GET.get("measure", "")
    chosen = chosen if chosen in MEASURES else "duration"
    runs = runs_of_name(user, name, project.slug).select_related(None).select_related("cluster")
    points = history(runs.only(*HISTORY_FIELDS)[:MOST_RUNS], MEASURES[chosen])
    if not points:
        raise Http404("This project has no run with this name, or you don't have access to it.")
    context = {
        "name": name,
        "current_project": project,
        "measures": MEASURES,
        "chosen": chosen,
        "measure": MEASURES[chosen],
        "points": points,
        "chart": [_drawn(point, MEASURES[chosen]) for point in reversed(points) if point.value is not None],
        "page": Paginator(points, PAGE_SIZE).get_page(request.GET.get("page")),
        "changes": [point for point in points if point.change],
        "most": MOST_RUNS,
    }
    return render(request, "pages/comparison/history.html", context)


def _drawn(point: Point, measure: Measure) -> dict[str, Any]:
    """A point of the chart: frontend/charts/comparison/history.js."""
    change = point.change and {
        "before": point.change.point.before,
        "after": point.change.point.after,
        "words": change_text(point.change, measure),
    }
    return {
        "time": point.run.start.timestamp(),
        "value": point.value,
        "outcome": point.run.outcome,
        "run": point.run.pk,
        "change": change,
    }


def _choices(user: User, a: int | None) -> dict[str, Any]:
    """Choices of the first run, or of the second: runs with the same name come first."""
    runs = visible_runs(user).order_by("-start", "-pk")
    if a is None:
        return {"runs": runs[:CHOICES]}
    run = get_run(user, a)
    same = runs_of_name(user, run.name, run.cluster.project.slug).exclude(pk=run.pk)
    rest = runs.filter(cluster__project=run.cluster.project).exclude(name=run.name)
    earlier = len(earlier_runs(user, run, USUAL_LAST))
    return {
        "a": run,
        "current_project": run.cluster.project,
        "earlier": earlier,
        "same": same[:CHOICES],
        "runs": rest[:CHOICES],
    }


def _number(query: QueryDict, name: str) -> int | None:
    """None if it isn't given. Raises Http404 if it can't be the number of a run."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Http404(f"The parameter {name} must be the number of a run, not {text[:50]!r}.")
    return int(text)
