"""Comparison of the workers of a run by a label."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from observatory.comparison.compare_workers import labels_of_run
from observatory.runs.access import get_run
from observatory.store.connection import read_connection

LONGEST = 300


@require_safe
def compare_workers_page(request: HttpRequest, run_id: int) -> HttpResponse:
    """Two groups of workers, which the page's script loads from the API; without both, a choice of them."""
    run = get_run(cast(User, request.user), run_id)
    label, a, b = (request.GET.get(name, "")[:LONGEST] for name in ("label", "a", "b"))
    context: dict[str, Any] = {"run": run, "current_project": run.cluster.project, "label": label}
    if label and a and b:
        context |= {
            "a": a,
            "b": b,
            "query": urlencode({"label": label, "a": a, "b": b}),
            "swapped": urlencode({"label": label, "a": b, "b": a}),
        }
        return render(request, "pages/comparison/compare_workers.html", context)
    with read_connection() as connection:
        labels = labels_of_run(connection, run)
    context |= {
        "has_workers": bool(labels),
        "labels": sorted(
            (each for each in labels if each["differs"]), key=lambda each: each["name"] != label
        ),
        "common": [each for each in labels if not each["differs"]],
    }
    return render(request, "pages/comparison/choose_workers.html", context)
