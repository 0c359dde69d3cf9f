"""Two runs beside each other, and the history of a run's name."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters.access import get_project
from observatory.comparison.candidates import MOST_EARLIER, earlier_runs, runs_of_name, runs_to_compare
from observatory.comparison.history import MEASURES, MOST_RUNS, history
from observatory.pages.site.query import query_text
from observatory.runs.access import get_run, visible_runs

OFFERED = 30
"""runs to choose from"""
USUAL_LAST = 5


@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """The page of two runs, whose script asks the API; without both of them one to choose them."""
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
    points = history(runs_of_name(user, name, project.slug)[:MOST_RUNS], MEASURES[chosen])
    if not points:
        raise Http404("There is no run of this name in the project, or you may not see it.")
    context = {
        "name": name,
        "current_project": project,
        "measures": MEASURES,
        "chosen": chosen,
        "measure": MEASURES[chosen],
        "points": points,
        "changed": [point for point in points if point.changed],
        "most": MOST_RUNS,
    }
    return render(request, "pages/comparison/history.html", context)


def _choices(user: User, a: int | None) -> dict[str, Any]:
    """Of the first run, or of the one to compare it with: first those of its name."""
    runs = visible_runs(user).order_by("-start", "-pk")
    if a is None:
        return {"runs": runs[:OFFERED]}
    run = get_run(user, a)
    same = runs_of_name(user, run.name, run.cluster.project.slug).exclude(pk=run.pk)
    rest = runs.filter(cluster__project=run.cluster.project).exclude(name=run.name)
    earlier = len(earlier_runs(user, run, USUAL_LAST))
    return {
        "a": run,
        "current_project": run.cluster.project,
        "earlier": earlier,
        "same": same[:OFFERED],
        "runs": rest[:OFFERED],
    }


def _number(query: QueryDict, name: str) -> int | None:
    """None where it isn't given. Raises Http404 for what is no number of a run."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Http404(f"{name} is {text[:50]!r}: it has to be a number.")
    return int(text)
