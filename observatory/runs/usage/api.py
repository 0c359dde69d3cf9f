"""The REST API of usage."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.timezone import now
from ninja import Field, Query, Router, Schema

from observatory.clusters.api import seconds
from observatory.clusters.refusal import Refusal, refusal
from observatory.runs.models import LONGEST_TAG
from observatory.runs.usage.report import (
    OTHERS,
    OUTSIDE,
    Amounts,
    UsageFilter,
    UsageReport,
    checked,
    days_before,
    usage_report,
)

USUAL_DAYS = 30

router = Router(tags=["usage"])


class UsageQuery(Schema):
    since: date | None = None
    """first day (UTC); without it the 30 days up to `until`"""
    until: date | None = None
    """last day, included; without it today"""
    by: Literal["project", "person", "tag"] = "project"
    tag: Annotated[str, Field(max_length=LONGEST_TAG)] = ""
    """name of the tag, for `by=tag`"""
    project: Annotated[str, Field(max_length=100)] = ""


class Cost(Schema):
    amount: float
    currency: str


class UsedAmounts(Schema):
    """Times are in seconds, summed over clusters, workers or threads."""

    cluster_seconds: float
    worker_seconds: float
    thread_seconds: float
    busy_seconds: float
    """in which threads computed tasks"""
    idle_seconds: float
    """thread_seconds without busy_seconds"""
    memory_seconds: float
    """bytes of the workers' memory limits times seconds"""
    tasks: int
    errors: int
    jobs: int
    """of batch systems, that began; as the next, only where agents tell of them"""
    wait_seconds: float
    """that these waited in queues, as far as it is known"""
    asked_core_seconds: float
    """that jobs asked for, where it is known what they used"""
    used_core_seconds: float
    """CPU time"""
    asked_memory_seconds: float
    """bytes times seconds that jobs asked for, where it is known what they used"""
    used_memory_seconds: float
    costs: list[Cost]
    """at the prices that the projects have now; without those of projects that set none"""


class UsageGroup(UsedAmounts):
    key: str
    """a project's slug, a person or a tag's value; "" for runs without one, and for the other kinds"""
    name: str
    """for people"""
    kind: Literal["value", "others", "outside"]
    """others: those that used least; outside: what clusters used outside of runs"""


class UsageOfDay(UsageGroup):
    day: date


class UsageOut(Schema):
    since: date
    until: date
    by: Literal["project", "person", "tag"]
    counted: float | None
    """up to when the newest cluster is counted, seconds since the epoch"""
    groups: list[UsageGroup]
    """the 20 with the most thread time, largest first"""
    days: list[UsageOfDay]
    """by day and group; days without usage are left out"""
    total: UsedAmounts
    """of the clusters"""


@router.get("/usage", response={200: UsageOut, 422: Refusal})
def get_usage(request: HttpRequest, query: Query[UsageQuery]) -> Any:
    """What clusters used on each day (UTC), by project, or by person or tag of their runs."""
    until = query.until or now().date()
    first = query.since or days_before(until, USUAL_DAYS)
    try:
        wanted = checked(UsageFilter(first, until, query.by, query.tag, query.project))
    except ValidationError as error:
        return refusal(error.message_dict)
    return usage_of(usage_report(cast(User, request.user), wanted))


def usage_of(report: UsageReport) -> dict[str, Any]:
    """A report as UsageOut."""
    order = {key: place for place, key in enumerate(report.groups)}
    return {
        "since": report.wanted.first,
        "until": report.wanted.last,
        "by": report.wanted.by,
        "counted": seconds(report.counted),
        "groups": [{**group_of(report, key), **amounts_of(report.by_group[key])} for key in report.groups],
        "days": [
            {"day": day, **group_of(report, key), **amounts_of(report.cells[day, key])}
            for day, key in sorted(report.cells, key=lambda cell: (cell[0], order[cell[1]]))
        ],
        "total": amounts_of(report.total),
    }


def group_of(report: UsageReport, key: str) -> dict[str, str]:
    kind = {OTHERS: "others", OUTSIDE: "outside"}.get(key, "value")
    return {"key": key if kind == "value" else "", "kind": kind, "name": report.names[key]}


def amounts_of(amounts: Amounts) -> dict[str, Any]:
    counts = {name: round(amounts.sums[name]) for name in ("tasks", "errors", "jobs")}
    costs = [{"amount": cost, "currency": currency} for currency, cost in sorted(amounts.costs.items())]
    return {**amounts.sums, **counts, "idle_seconds": amounts.idle_seconds, "costs": costs}
