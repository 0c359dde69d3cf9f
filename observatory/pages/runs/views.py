"""The list of runs, and saved filters."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.timezone import now
from django.views.decorators.http import require_POST, require_safe

from observatory.alerts.web.flags import flags_of_runs
from observatory.base.pages import page_of_rows
from observatory.clusters.access import may_manage
from observatory.clusters.formatting import format_percent
from observatory.clusters.models import Cluster
from observatory.comparison.card.sparkline import sparkline
from observatory.comparison.recent_runs import RecentDurations, recent_durations
from observatory.pages.clusters.frame import frame, get_cluster
from observatory.pages.runs.forms import RunFilterForm, SavedFilterForm
from observatory.pages.site.csv import MOST_ROWS, csv_response, wants_csv
from observatory.pages.site.ordering import sorted_column
from observatory.runs import access
from observatory.runs.listing import UNKNOWN, RunFilter, find_runs
from observatory.runs.models import RunFindings, SavedFilter

PAGE_SIZE = 50
SPARKLINE_RUNS = 20
MOST_SAVED = 50
"""filters of one user"""
COLUMNS = (
    ("name", "Run", ""),
    ("start", "Started (UTC)", "-"),
    ("duration", "Duration", "-"),
    ("tasks", "Tasks", "-"),
    ("errors", "Errors", "-"),
)
"""sortable: name in the query string, heading, prefix of the first sort order"""


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    if wants_csv(request):
        return _csv(request)
    saved = SavedFilter.objects.filter(user=user)
    return render(request, "pages/runs/runs.html", {**_runs(request), "saved": saved})


@require_safe
def cluster_runs(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """The runs of one cluster."""
    cluster = get_cluster(request, cluster_id)
    if wants_csv(request):
        return _csv(request, cluster)
    may_delete = may_manage(cast(User, request.user), cluster.project)
    context = {**frame(cluster, "runs"), **_runs(request, cluster), "may_delete": may_delete}
    return render(request, "pages/runs/cluster_runs.html", context)


@require_POST
def save_filter(request: HttpRequest) -> HttpResponse:
    """Saves the query under a name, replacing an older filter of this name."""
    form = SavedFilterForm(request.POST)
    saved = SavedFilter.objects.filter(user=cast(User, request.user))
    if not form.is_valid():
        messages.error(request, "Enter a name of at most 100 characters for the filter.")
    elif saved.count() >= MOST_SAVED and not saved.filter(name=form.cleaned_data["name"]).exists():
        messages.error(request, f"You have {MOST_SAVED} saved filters, the maximum. Remove one first.")
    else:
        query = {"query": form.cleaned_data["query"]}
        SavedFilter.objects.update_or_create(
            user=cast(User, request.user), name=form.cleaned_data["name"], defaults=query
        )
        messages.success(request, f"The filter “{form.cleaned_data['name']}” is saved.")
    return redirect(f"{reverse('runs')}?{form.cleaned_data.get('query', '')}")


@require_POST
def remove_filter(request: HttpRequest, filter_id: int) -> HttpResponse:
    found = get_object_or_404(SavedFilter, user=cast(User, request.user), pk=filter_id)
    found.delete()
    messages.success(request, f"The filter “{found.name}” is removed.")
    return redirect("runs")


def _csv(request: HttpRequest, cluster: Cluster | None = None) -> HttpResponse:
    user = cast(User, request.user)
    wanted = RunFilterForm(user, request.GET).run_filter(cluster.pk if cluster else None)
    header = (
        *("id", "name", "project", "cluster", "started", "stopped", "seconds", "outcome"),
        *("tasks", "errors", "user", "tags", "finding", "main finding", "thread-seconds that it costs"),
    )
    rows = (
        (
            run.pk,
            run.name,
            run.cluster.project.name,
            run.cluster.name,
            run.start,
            run.stop,
            (run.stop - run.start).total_seconds() if run.stop else None,
            run.outcome,
            run.tasks if run.counted else None,
            run.errors if run.counted else None,
            run.user,
            " ".join(f"{name}={value}" for name, value in run.tags.items()),
            *_finding_cells(run.known_findings),
        )
        for run in find_runs(user, wanted)[: MOST_ROWS + 1]
    )
    return csv_response(f"{cluster.name} runs" if cluster else "runs", header, rows)


def _finding_cells(known: RunFindings | None) -> tuple[str, str, float | None]:
    """The kind of the main finding, or why there is none; its sentence and cost."""
    if known is None:
        return UNKNOWN, "", None
    return known.kind or known.state, known.sentence, known.thread_seconds if known.kind else None


def _runs(request: HttpRequest, cluster: Cluster | None = None) -> dict[str, Any]:
    """Context of pages/runs/table.html."""
    user = cast(User, request.user)
    form = RunFilterForm(user, request.GET)
    wanted = form.run_filter(cluster.pk if cluster else None)
    page = page_of_rows(find_runs(user, wanted), PAGE_SIZE, request.GET.get("page"))
    ids = [run.pk for run in page]
    changeable = set(access.changeable_runs(user).filter(pk__in=ids).values_list("pk", flat=True))
    flags, recent = flags_of_runs(ids), recent_durations(list(page))
    query = request.GET.copy()
    query.pop("page", None)
    is_filtered = wanted != RunFilter(cluster=wanted.cluster, order=wanted.order) or not form.is_valid()
    return {
        "page": page,
        "rows": [(run, run.pk in changeable, flags.get(run.pk), _trend(recent[run.pk])) for run in page],
        "may_change": bool(changeable),
        "form": form,
        "columns": [sorted_column(*column, wanted.order) for column in COLUMNS],
        "order": wanted.order,
        "query": query.urlencode(),
        "now": now(),
        "is_filtered": is_filtered,
    }


def _trend(recent: RecentDurations) -> dict[str, Any]:
    """Context of a row: the durations of the last runs of its name as a line, and how its own differs."""
    deviation = recent.deviation
    verdict = ""
    if deviation:
        word = "slower" if deviation.value > deviation.usual else "faster"
        verdict = f"{format_percent(deviation.share)} {word}" if deviation.is_unusual else "as usual"
    return {"sparkline": sparkline(recent.all[-SPARKLINE_RUNS:]), "verdict": verdict, "deviation": deviation}
