"""Groups open alerts by rule and cluster, so that a flood of alerts stays readable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from observatory.alerts.models import Alert, Severity
from observatory.alerts.web.listing import AlertFilter, matching_alerts
from observatory.clusters.access import Person

COLUMNS = {"since": "newest", "severity": "rank", "rule": "rule__name", "cluster": "cluster__name"}
EXAMPLES = 3
"""newest alerts of a group that are shown"""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AlertGroup:
    """The alerts of one rule and one cluster."""

    examples: Sequence[Alert]
    """the newest"""
    count: int
    severity: str
    """the highest"""
    oldest: datetime
    newest: datetime
    """when the conditions of the first and of the last became true"""
    acknowledged: int
    """how many are"""

    @property
    def alert(self) -> Alert:
        return self.examples[0]

    @property
    def others(self) -> int:
        """How many are not among the examples."""
        return self.count - len(self.examples)


def single(alert: Alert) -> AlertGroup:
    """The group of one alert."""
    is_acknowledged = int(alert.acknowledged is not None)
    return AlertGroup([alert], 1, alert.severity, alert.pending, alert.pending, is_acknowledged)


def find_groups(user: Person, alert_filter: AlertFilter) -> QuerySet[Alert, Any]:
    """A row for each rule and cluster with alerts that match. `groups_of` makes groups of them."""
    column = COLUMNS[alert_filter.order.removeprefix("-")]
    order = f"-{column}" if alert_filter.order.startswith("-") else column
    return (
        matching_alerts(user, alert_filter)
        .order_by()
        .values("rule_id", "rule__name", "cluster_id", "cluster__name")
        .annotate(
            count=Count("pk"),
            rank=Max("rank"),
            oldest=Min("pending"),
            newest=Max("pending"),
            acknowledgements=Count("acknowledged"),
        )
        .order_by(order, "-rank", "-newest", "rule_id", "cluster_id")
    )


def groups_of(user: Person, alert_filter: AlertFilter, rows: Sequence[Row]) -> list[AlertGroup]:
    """The groups of some rows of `find_groups`, in their order."""
    wanted = Q(pk__in=[])
    for row in rows:
        wanted |= Q(rule=row["rule_id"], cluster=row["cluster_id"])
    place = Window(
        RowNumber(), partition_by=[F("rule"), F("cluster")], order_by=[F("pending").desc(), F("pk").desc()]
    )
    examples: dict[tuple[int, int], list[Alert]] = {}
    found = matching_alerts(user, alert_filter).filter(wanted).annotate(place=place)
    for alert in found.filter(place__lte=EXAMPLES).order_by("place"):
        examples.setdefault((alert.rule_id, alert.cluster_id), []).append(alert)
    return [
        AlertGroup(
            examples=examples[row["rule_id"], row["cluster_id"]],
            count=row["count"],
            severity=Severity.values[row["rank"]],
            oldest=row["oldest"],
            newest=row["newest"],
            acknowledged=row["acknowledgements"],
        )
        for row in rows
        if (row["rule_id"], row["cluster_id"]) in examples  # resolved since
    ]
