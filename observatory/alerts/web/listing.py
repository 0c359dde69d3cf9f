"""Filters, sorts and counts alerts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Count, Q, QuerySet, When

from observatory.alerts.models import RANKS, Alert
from observatory.alerts.web.access import visible_alerts
from observatory.clusters.access import Person, alerted_projects

COLUMNS = {"since": "pending", "severity": "rank", "rule": "rule__name", "cluster": "cluster__name"}
ORDERS = (*COLUMNS, *(f"-{column}" for column in COLUMNS))
"""values of the query parameter; “-” means descending"""


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """An empty value doesn't filter."""

    state: str = ""
    severity: str = ""
    project: str = ""
    """slug"""
    cluster: int | None = None
    rule: str = ""
    """its name"""
    text: str = ""
    """words in the message, or in the names of rule, cluster and labels"""
    since: datetime | None = None
    """excludes alerts that were resolved before"""
    until: datetime | None = None
    """excludes alerts that began later"""
    order: str = "-since"
    """one of ORDERS"""


@dataclass(frozen=True, slots=True)
class Tally:
    """A number of alerts and their highest severity, "" for none."""

    count: int
    severity: str


@dataclass(frozen=True, slots=True)
class FiringCounts:
    """The firing alerts of one cluster, and of all others."""

    here: Tally
    elsewhere: Tally


def find_alerts(user: Person, alert_filter: AlertFilter) -> QuerySet[Alert]:
    """The alerts that `user` may see and that match the filter."""
    is_falling = alert_filter.order.startswith("-")
    column = COLUMNS[alert_filter.order.removeprefix("-")]
    found = matching_alerts(user, alert_filter)
    return found.order_by(f"-{column}" if is_falling else column, "-pending", "-pk")


def matching_alerts(user: Person, alert_filter: AlertFilter) -> QuerySet[Alert]:
    """The same in no order, with the rank of their severity as `rank`."""
    rank = Case(*(When(severity=severity, then=rank) for severity, rank in RANKS.items()))
    return visible_alerts(user).filter(_condition(alert_filter)).annotate(rank=rank)


def firing(user: Person, cluster: int | None = None) -> FiringCounts:
    """Counts the firing alerts that `user` may see. Without a cluster all are elsewhere."""
    rows = list(
        Alert.objects.filter(state=Alert.State.FIRING, cluster__project__in=alerted_projects(user))
        .order_by()
        .values_list("cluster_id", "severity")
        .annotate(count=Count("pk"))
    )
    here = [row for row in rows if row[0] == cluster]
    elsewhere = [row for row in rows if row[0] != cluster]
    return FiringCounts(_tally(here), _tally(elsewhere))


def worst(severities: Iterable[str]) -> str:
    """The highest severity; "" for none."""
    return max(severities, key=RANKS.__getitem__, default="")


def _tally(rows: Sequence[tuple[int, str, int]]) -> Tally:
    return Tally(sum(count for *_, count in rows), worst(severity for _, severity, _ in rows))


def _condition(alert_filter: AlertFilter) -> Q:
    exact = {
        "state": alert_filter.state,
        "severity": alert_filter.severity,
        "cluster__project__slug": alert_filter.project,
        "cluster": alert_filter.cluster,
        "rule__name": alert_filter.rule,
        "pending__lt": alert_filter.until,
    }
    condition = Q(**{field: value for field, value in exact.items() if value not in ("", None)})
    for word in alert_filter.text.split():
        condition &= (
            Q(message__icontains=word)
            | Q(rule__name__icontains=word)
            | Q(cluster__name__icontains=word)
            | Q(labels__icontains=word)
        )
    if alert_filter.since is not None:
        condition &= Q(resolved=None) | Q(resolved__gte=alert_filter.since)
    return condition
