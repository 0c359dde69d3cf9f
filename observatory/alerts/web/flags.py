"""Flags of clusters and runs: the names of the rules that fired, such as “worker lost”."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from observatory.alerts.models import RANKS, Alert
from observatory.alerts.web.listing import worst
from observatory.runs.listing import raised_alerts
from observatory.runs.models import Run


@dataclass(frozen=True, slots=True)
class Flag:
    """All alerts of one rule."""

    name: str
    severity: str
    """of the most severe alert"""
    count: int
    is_firing: bool
    """at least one alert still fires"""


Row = tuple[int, str, str, int, int]
"""owner, rule, severity, number of alerts, number of alerts that still fire"""


def flags_of_clusters(clusters: Sequence[int], only_firing: bool = False) -> dict[int, list[Flag]]:
    """The flags of clusters with alerts, the most severe first. `only_firing`: of alerts that still fire."""
    found = Alert.objects.filter(cluster__in=clusters, fired__isnull=False).order_by()
    if only_firing:
        found = found.filter(state=Alert.State.FIRING)
    still = Count("pk", filter=Q(state=Alert.State.FIRING))
    rows = found.values_list("cluster_id", "rule__name", "severity").annotate(Count("pk"), still=still)
    return _flags(rows)


def flags_of_link(alerts: QuerySet[Alert]) -> list[Flag]:
    """The flags of alerts that a link shows. Whether they still fire is of the time after its run."""
    rows = alerts.order_by().values_list("cluster_id", "rule__name", "severity").annotate(Count("pk"))
    return next(iter(_flags((*row, 0) for row in rows).values()), [])


def flags_of_runs(runs: Sequence[int]) -> dict[int, list[Flag]]:
    """The flags of runs with alerts that fired in their window."""
    alert = "cluster__alerts"
    found = Run.objects.filter(raised_alerts(), pk__in=runs).order_by()
    still = Count(alert, filter=Q(**{f"{alert}__state": Alert.State.FIRING}))
    rows = found.values_list("pk", f"{alert}__rule__name", f"{alert}__severity")
    return _flags(rows.annotate(Count(alert), still=still))


def _flags(rows: Iterable[Any]) -> dict[int, list[Flag]]:
    grouped: dict[int, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        grouped[row[0]][row[1]].append(row)
    return {
        owner: sorted((_flag(name, found) for name, found in by_name.items()), key=_place)
        for owner, by_name in grouped.items()
    }


def _flag(name: str, rows: list[Row]) -> Flag:
    severity = worst(severity for _, _, severity, _, _ in rows)
    return Flag(name, severity, sum(row[3] for row in rows), any(row[4] for row in rows))


def _place(flag: Flag) -> tuple[bool, int, str]:
    return (not flag.is_firing, -RANKS[flag.severity], flag.name)
