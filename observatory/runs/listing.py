"""The list of runs: which of them a person asked for, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet
from django.utils.timezone import now

from observatory.clusters.access import Person
from observatory.runs.access import visible_runs
from observatory.runs.models import Run

SORTS = ("start", "duration", "tasks", "errors", "name")
ORDERS = (*SORTS, *(f"-{sort}" for sort in SORTS))
"""as a query says it: “-” is the greatest first"""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What was asked for; an empty value asks for all."""

    project: str = ""
    """slug"""
    cluster: int | None = None
    name: str = ""
    """words of the name"""
    tag: tuple[str, str] | None = None
    """name and text; an empty text asks for the name alone"""
    user: str = ""
    """part of who ran it"""
    outcome: str = ""
    origin: str = ""
    shortest: float | None = None
    """seconds; a run that goes on is as long as it has gone on for"""
    longest: float | None = None
    since: datetime | None = None
    """when it started"""
    until: datetime | None = None
    with_errors: bool = False
    pinned: bool = False
    alert: str = ""
    """the name of a rule of which an alert fired during the run"""
    order: str = "-start"
    """one of ORDERS"""


def find_runs(user: Person, wanted: RunFilter) -> QuerySet[Run]:
    """The runs that `user` may see and asked for. What goes on counts as the longest, in its order."""
    runs = visible_runs(user).filter(_condition(wanted))
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
        # several of a run's alerts may match, and the run is to come once
        raised = Run.objects.filter(raised_alerts(), cluster__alerts__rule__name=wanted.alert)
        condition &= Q(pk__in=raised.order_by().values("pk"))
    return condition & _lasting(wanted.shortest, wanted.longest)


def raised_alerts() -> Q:
    """Joins to each run the alerts of its cluster that fired before its end and were open after its start."""
    before = Q(stop=None) | Q(cluster__alerts__fired__lt=F("stop"))
    after = Q(cluster__alerts__resolved=None) | Q(cluster__alerts__resolved__gt=F("start"))
    return Q(before, after, cluster__alerts__fired__isnull=False)


def _lasting(shortest: float | None, longest: float | None) -> Q:
    condition = Q()
    if shortest is not None:
        least = timedelta(seconds=shortest)
        condition &= Q(stop__gte=F("start") + least) | Q(stop=None, start__lte=now() - least)
    if longest is not None:
        most = timedelta(seconds=longest)
        condition &= Q(stop__lte=F("start") + most) | Q(stop=None, start__gte=now() - most)
    return condition
