"""Filters and orders of the list of runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Prefetch, Q, QuerySet
from django.utils.timezone import now

from observatory.clusters.access import Person
from observatory.runs.access import visible_runs
from observatory.runs.models import Run, RunFindings

SORTS = ("start", "duration", "tasks", "errors", "name")
ORDERS = (*SORTS, *(f"-{sort}" for sort in SORTS))
"""“-” sorts descending"""
UNKNOWN = "unknown"
"""as `finding`: runs that weren't looked at yet"""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Conditions on runs; empty values don't filter."""

    project: str = ""
    """slug"""
    cluster: int | None = None
    name: str = ""
    """words of the name"""
    tag: tuple[str, str] | None = None
    """name and value; an empty value matches all runs with the tag"""
    user: str = ""
    """part of the user name"""
    outcome: str = ""
    origin: str = ""
    shortest: float | None = None
    """seconds; of an open run, up to now"""
    longest: float | None = None
    since: datetime | None = None
    """bounds of its start"""
    until: datetime | None = None
    with_errors: bool = False
    pinned: bool = False
    alert: str = ""
    """name of an alert rule that fired during the run"""
    finding: str = ""
    """kind of its main finding, a state of RunFindings, or UNKNOWN"""
    order: str = "-start"
    """one of ORDERS"""


def find_runs(user: Person, wanted: RunFilter) -> QuerySet[Run]:
    """The matching runs that `user` may see. Open runs sort as the longest."""
    runs = visible_runs(user).filter(_condition(wanted)).defer("contents")
    # by a query of its own: in a join, PostgreSQL might read the findings of all runs for one page of them
    runs = runs.prefetch_related(Prefetch("findings", RunFindings.objects.defer("all")))
    is_falling = wanted.order.startswith("-")
    column = (
        F("stop") - F("start") if wanted.order.endswith("duration") else F(wanted.order.removeprefix("-"))
    )
    return runs.order_by(column.desc() if is_falling else column.asc(), "-pk" if is_falling else "pk")


def _condition(wanted: RunFilter) -> Q:
    exact = {
        "cluster__project__slug": wanted.project,
        "cluster": wanted.cluster,
        "outcome": wanted.outcome,
        "origin": wanted.origin,
        "start__gte": wanted.since,
        "start__lt": wanted.until,
        "user__icontains": wanted.user,
        "errors__gt": 0 if wanted.with_errors else None,
        "pinned": wanted.pinned or None,
    }
    condition = Q(**{field: value for field, value in exact.items() if value not in ("", None)})
    for word in wanted.name.split():
        condition &= Q(name__icontains=word)
    if wanted.tag is not None:
        name, value = wanted.tag
        condition &= Q(tags__contains={name: value}) if value else Q(tags__has_key=name)
    if wanted.alert:
        # a subquery, since several alerts of a run can match
        raised = Run.objects.filter(raised_alerts(), cluster__alerts__rule__name=wanted.alert)
        condition &= Q(pk__in=raised.order_by().values("pk"))
    if wanted.finding:
        condition &= _has_main_finding(wanted.finding)
    return condition & _duration_between(wanted.shortest, wanted.longest)


def _has_main_finding(wanted: str) -> Q:
    if wanted == UNKNOWN:
        return Q(findings=None)
    return Q(findings__state=wanted) | Q(findings__kind=wanted)


def raised_alerts() -> Q:
    """Condition on a join: alerts of the run's cluster that were firing during the run."""
    before = Q(stop=None) | Q(cluster__alerts__fired__lt=F("stop"))
    after = Q(cluster__alerts__resolved=None) | Q(cluster__alerts__resolved__gt=F("start"))
    return Q(before, after, cluster__alerts__fired__isnull=False)


def _duration_between(shortest: float | None, longest: float | None) -> Q:
    condition = Q()
    if shortest is not None:
        least = timedelta(seconds=shortest)
        condition &= Q(stop__gte=F("start") + least) | Q(stop=None, start__lte=now() - least)
    if longest is not None:
        most = timedelta(seconds=longest)
        condition &= Q(stop__lte=F("start") + most) | Q(stop=None, start__gte=now() - most)
    return condition
