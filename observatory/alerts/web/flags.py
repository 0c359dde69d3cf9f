"""What fired in a cluster or during a run, by the names of its rules: “memory pressure”, “worker lost”."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from observatory.alerts.models import RANKS, Alert
from observatory.alerts.web.listing import worst
from observatory.runs.listing import raised_alerts
from observatory.runs.models import Run


@dataclass(frozen=True, slots=True)
class Flag:
    """All alerts of one rule."""

    name: str
    severity: str
    """of the worst of them"""
    count: int
    is_firing: bool
    """whether one of them fires still"""


Row = tuple[int, str, str, int, int]
"""whose, rule, severity, how many, how many of them that fire still"""


def flags_of_clusters(clusters: Sequence[int]) -> dict[int, list[Flag]]:
    """The flags of each cluster that has some, the worst first."""
    found = Alert.objects.filter(cluster__in=clusters, fired__isnull=False).order_by()
    still = Count("pk", filter=Q(state=Alert.State.FIRING))
    rows = found.values_list("cluster_id", "rule__name", "severity").annotate(Count("pk"), still=still)
    return _flags(rows)


def flags_of_runs(runs: Sequence[int]) -> dict[int, list[Flag]]:
    """The flags of each run that has some, of what fired in its window."""
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
