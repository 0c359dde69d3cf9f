"""The list of alerts: which of them a person asked for, in which order. And how many fire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Count, Q, QuerySet, When

from observatory.alerts.models import RANKS, Alert
from observatory.alerts.web.access import visible_alerts
from observatory.clusters.access import Person, visible_projects

COLUMNS = {"since": "pending", "severity": "rank", "rule": "rule__name", "cluster": "cluster__name"}
ORDERS = (*COLUMNS, *(f"-{column}" for column in COLUMNS))
"""as a query says it: “-” is the newest, or the worst, first"""


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """What was asked for; an empty value asks for all."""

    state: str = ""
    severity: str = ""
    project: str = ""
    """slug"""
    cluster: int | None = None
    rule: str = ""
    """its name"""
    text: str = ""
    """words of the message, or of the names of rule, cluster and labels"""
    since: datetime | None = None
    """what was over by then is left out"""
    until: datetime | None = None
    """what began later is left out"""
    order: str = "-since"
    """one of ORDERS"""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many alerts there are, and how bad the worst of them is: "" where there is none."""

    count: int
    severity: str


@dataclass(frozen=True, slots=True)
class Firing:
    """What fires in one cluster, and in all others."""

    here: Tally
    elsewhere: Tally


def find_alerts(user: Person, wanted: AlertFilter) -> QuerySet[Alert]:
    """The alerts that `user` may see and asked for."""
    is_falling = wanted.order.startswith("-")
    column = COLUMNS[wanted.order.removeprefix("-")]
    rank = Case(*(When(severity=severity, then=rank) for severity, rank in RANKS.items()))
    found = visible_alerts(user).filter(_condition(wanted)).annotate(rank=rank)
    return found.order_by(f"-{column}" if is_falling else column, "-pending", "-pk")


def firing(user: Person, cluster: int | None = None) -> Firing:
    """What fires of what `user` may see; without a cluster all is elsewhere."""
    rows = list(
        Alert.objects.filter(state=Alert.State.FIRING, cluster__project__in=visible_projects(user))
        .order_by()
        .values_list("cluster_id", "severity")
        .annotate(count=Count("pk"))
    )
    here = [row for row in rows if row[0] == cluster]
    elsewhere = [row for row in rows if row[0] != cluster]
    return Firing(_tally(here), _tally(elsewhere))


def worst(severities: Iterable[str]) -> str:
    """The worst of them; "" of none."""
    return max(severities, key=RANKS.__getitem__, default="")


def _tally(rows: Sequence[tuple[int, str, int]]) -> Tally:
    return Tally(sum(count for *_, count in rows), worst(severity for _, severity, _ in rows))


def _condition(wanted: AlertFilter) -> Q:
    exact = {
        "state": wanted.state,
        "severity": wanted.severity,
        "cluster__project__slug": wanted.project,
        "cluster": wanted.cluster,
        "rule__name": wanted.rule,
        "pending__lt": wanted.until,
    }
    condition = Q(**{field: value for field, value in exact.items() if value not in ("", None)})
    for word in wanted.text.split():
        condition &= (
            Q(message__icontains=word)
            | Q(rule__name__icontains=word)
            | Q(cluster__name__icontains=word)
            | Q(labels__icontains=word)
        )
    if wanted.since is not None:
        condition &= Q(resolved=None) | Q(resolved__gte=wanted.since)
    return condition
