"""What clusters used on each day: by project, person or tag, with its cost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from observatory.clusters.access import projects_to_manage
from observatory.clusters.models import Project
from observatory.pages.site.csv import csv_response, wants_csv
from observatory.pages.usage.forms import UsageForm
from observatory.runs.usage.prices import GIB, HOUR
from observatory.runs.usage.report import OTHERS, OUTSIDE, Amounts, UsageFilter, UsageReport, usage_report


@require_safe
def usage_page(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    form = UsageForm(user, request.GET)
    wanted = form.usage_filter()
    report = usage_report(user, wanted)
    if wants_csv(request):
        return _csv(report)
    context: dict[str, Any] = {
        "form": form,
        "report": report,
        "rows": [
            {
                "name": report.names[key],
                "url": _url(wanted, key),
                "amounts": report.by_group[key],
                "costs": _costs(report.by_group[key]),
            }
            for key in report.groups
        ],
        "days": [
            {"day": day, "amounts": amounts, "costs": _costs(amounts)}
            for day, amounts in sorted(report.by_day.items(), reverse=True)
        ],
        "total": {"amounts": report.total, "costs": _costs(report.total)},
        "job_rows": _job_rows(report),
        "has_costs": bool(report.total.costs),
        "may_set_prices": _priceless(user, wanted),
        "query": _query(wanted),
        "heading": {"person": "Person", "tag": f"Tag {wanted.tag}"}.get(wanted.by, "Project"),
    }
    response = render(request, "pages/usage/usage.html", context)
    response._csp_update = settings.PLOTLY_POLICY  # type: ignore[attr-defined]  # django-csp reads it
    return response


def _job_rows(report: UsageReport) -> list[dict[str, Any]]:
    """What jobs of batch systems asked for and used, by group; none where no worker ran in one."""
    return [
        {"name": report.names[key], "url": _url(report.wanted, key), "amounts": amounts}
        for key in report.groups
        if (amounts := report.by_group[key]).has_jobs
    ]


def _priceless(user: User, wanted: UsageFilter) -> list[Project]:
    """Projects without a price whose prices the person may set."""
    projects = projects_to_manage(user)
    if wanted.project:
        projects = projects.filter(slug=wanted.project)
    return [project for project in projects[:20] if not project.has_price][:3]


def _url(wanted: UsageFilter, key: str) -> str:
    """What a group is made of: the clusters of a project, or the runs of a person or with a tag."""
    if key in (OTHERS, OUTSIDE, ""):
        return ""
    if wanted.by == "project":
        return f"{reverse('clusters')}?{urlencode({'project': key})}"
    window = {"since": f"{wanted.first}T00:00", "until": f"{wanted.last + timedelta(days=1)}T00:00"}
    what = {"user": key} if wanted.by == "person" else {"tag": f"{wanted.tag}={key}"}
    return f"{reverse('runs')}?{urlencode({**what, **window, 'project': wanted.project})}"


def _query(wanted: UsageFilter) -> str:
    """Of the same answer of the API."""
    values = {"since": wanted.first, "until": wanted.last, "by": wanted.by, "tag": wanted.tag}
    return urlencode({**values, "project": wanted.project})


def _costs(amounts: Amounts) -> list[dict[str, Any]]:
    return [{"amount": amount, "currency": currency} for currency, amount in sorted(amounts.costs.items())]


def _csv(report: UsageReport) -> HttpResponse:
    """A row for each day and group."""
    wanted = report.wanted
    currencies = sorted(report.total.costs)
    header = (
        *("day", wanted.by, "cluster hours", "worker hours", "thread hours", "busy thread hours"),
        *("idle thread hours", "memory GiB hours", "tasks", "errors"),
        *("jobs", "hours waited", "core hours asked", "core hours used"),
        *("memory GiB hours asked", "memory GiB hours used"),
        *(f"cost {currency}" for currency in currencies),
    )
    return csv_response(f"usage {wanted.first} {wanted.last}", header, _csv_rows(report, currencies))


def _csv_rows(report: UsageReport, currencies: list[str]) -> Iterator[tuple[Any, ...]]:
    for day, key in sorted(report.cells):
        amounts = report.cells[day, key]
        sums = amounts.sums
        yield (
            day,
            report.names[key],
            *(sums[f"{name}_seconds"] / HOUR for name in ("cluster", "worker", "thread", "busy")),
            amounts.idle_seconds / HOUR,
            sums["memory_seconds"] / HOUR / GIB,
            round(sums["tasks"]),
            round(sums["errors"]),
            round(sums["jobs"]),
            *(sums[f"{name}_seconds"] / HOUR for name in ("wait", "asked_core", "used_core")),
            *(sums[f"{name}_memory_seconds"] / HOUR / GIB for name in ("asked", "used")),
            *(amounts.costs.get(currency) for currency in currencies),
        )
