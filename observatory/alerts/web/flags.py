"""Flags of clusters and runs: the names of the rules that fired, such as “worker lost”."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.timezone import now

from observatory.alerts.models import RANKS, Alert, Rule
from observatory.alerts.web.about_runs import alerts_of_run, is_judged
from observatory.alerts.web.listing import worst
from observatory.runs.listing import raised_alerts
from observatory.runs.models import Run
from observatory.runs.refresh import LATER


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


def flags_of_alerts(alerts: QuerySet[Alert], with_state: bool = True) -> list[Flag]:
    """The flags of alerts of one cluster. `with_state`: whether they still fire."""
    still = Count("pk", filter=Q(state=Alert.State.FIRING) if with_state else Q(pk=None))
    rows = alerts.order_by().values_list("cluster_id", "rule__name", "severity")
    return next(iter(_flags(rows.annotate(Count("pk"), still=still)).values()), [])


def flags_of_runs(runs: Sequence[int]) -> dict[int, list[Flag]]:
    """The flags of runs with alerts about them that fired. Runs of one page: alerts are judged for each."""
    alert = "cluster__alerts"
    judged = Rule.objects.filter(is_judged(OuterRef("pk")))
    others = Rule.objects.exclude(is_judged(OuterRef("pk"))).values("pk")
    found = Run.objects.filter(raised_alerts(), pk__in=runs, cluster__alerts__rule__in=others).order_by()
    still = Count(alert, filter=Q(**{f"{alert}__state": Alert.State.FIRING}))
    rows = found.values_list("pk", f"{alert}__rule__name", f"{alert}__severity")
    return _flags([*rows.annotate(Count(alert), still=still), *_judged(runs, judged)])


def _judged(runs: Sequence[int], rules: QuerySet[Rule]) -> Iterator[Row]:
    """Of runs whose clusters have alerts of these rules, those about the run."""
    alerts = Alert.objects.filter(rule__in=rules, fired__isnull=False)
    before = Q(fired__lt=Coalesce(OuterRef("stop"), now()) + LATER)
    after = Q(resolved=None) | Q(resolved__gt=OuterRef("start"))
    found = Run.objects.filter(Exists(alerts.filter(before, after, cluster=OuterRef("cluster"))), pk__in=runs)
    for run in found.defer("code", "contents"):
        own = alerts_of_run(alerts.filter(cluster=run.cluster_id), run, "fired")
        for name, severity, state in own.values_list("rule__name", "severity", "state"):
            yield run.pk, name, severity, 1, int(state == Alert.State.FIRING)


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
