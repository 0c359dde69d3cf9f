"""Evaluates late data: data that arrives after its time was evaluated.

Late data can add alerts, which are marked as late and notified once. It never changes or removes existing
alerts. The time is evaluated again like a back-test, and firings that overlap no alert of the same rule and
labels are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from django.db.models import Q

from observatory.alerts.evaluation.active_rules import ActiveRule, RuleErrors
from observatory.alerts.evaluation.open_alerts import (
    OpenAlerts,
    TooManyAlerts,
    fingerprint_of,
)
from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.outcomes import Outcome
from observatory.alerts.evaluation.window.state_machine import Firing, advance
from observatory.alerts.models import Alert
from observatory.clusters.models import Cluster
from observatory.store.times import from_seconds

MAX_LATENESS = 86_400.0
"""seconds; later data makes no alerts"""
LOOKBACKS = (300.0, 3_600.0)
"""seconds before late data that are read for it: for each rule the shorter one, if that suffices"""

Ranges = list[tuple[float, float]]
"""(pending, resolved) of existing alerts"""


@dataclass(frozen=True, slots=True)
class LateWindow:
    """What is evaluated again for some rules."""

    data: WindowData
    rules: Sequence[ActiveRule]


def late_windows(
    connection: psycopg.Connection, cluster: Cluster, rules: Sequence[ActiveRule], since: float, until: float
) -> list[LateWindow]:
    """For data in [since, until) that wasn't there when that time was evaluated: a window a lookback."""
    since = max(since, until - MAX_LATENESS)
    return [
        LateWindow(
            WindowData(connection, cluster, since - past, until),
            [rule for rule in rules if _lookback(rule) == past],
        )
        for past in LOOKBACKS
    ]


def _lookback(rule: ActiveRule) -> float:
    return next((past for past in LOOKBACKS if past >= rule.lookback), LOOKBACKS[-1])


def add_late(
    alerts: OpenAlerts,
    windows: Iterable[LateWindow],
    existing: Mapping[str, Ranges],
    evaluate: Callable[[WindowData, ActiveRule], Sequence[Outcome]],
    errors: RuleErrors,
    since: float,
    until: float,
) -> None:
    """Adds the alerts caused by the late data of `windows`; `existing` are the cluster's, by fingerprint."""
    since = max(since, until - MAX_LATENESS)
    for window in windows:
        for rule in window.rules:
            for outcome in evaluate(window.data, rule):
                firings, active = advance(None, outcome, until, rule.spec.hold)
                known = existing.get(fingerprint_of(rule.rule.pk, alerts.cluster.pk, outcome.subject), [])
                new = [firing for firing in firings if _is_new(firing, since, known)]
                if active is not None and any(stop > active.pending for _, stop in known):
                    active = None
                try:
                    alerts.add_late(rule, outcome.subject, new, active)
                except TooManyAlerts as error:
                    errors.add(rule.rule, error, alerts.cluster.name)


def _is_new(firing: Firing, since: float, known: Ranges) -> bool:
    stop = float("inf") if firing.resolved is None else firing.resolved
    return stop > since and not any(start < stop and end > firing.pending for start, end in known)


def existing_alerts(since: Mapping[int, float]) -> Mapping[int, Mapping[str, Ranges]]:
    """By cluster, the alerts that were open after a time (seconds) less the longest lookback."""
    found: dict[int, dict[str, Ranges]] = {cluster: {} for cluster in since}
    if not since:
        return found
    first = from_seconds(min(since.values()) - LOOKBACKS[-1])
    rows = Alert.objects.filter(Q(resolved=None) | Q(resolved__gt=first), cluster__in=list(since))
    for cluster, fingerprint, pending, resolved in rows.values_list(
        "cluster", "fingerprint", "pending", "resolved"
    ):
        stop = float("inf") if resolved is None else resolved.timestamp()
        found[cluster].setdefault(fingerprint, []).append((pending.timestamp(), stop))
    return found
