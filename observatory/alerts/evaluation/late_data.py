"""Evaluates late data: data that arrives after its time was evaluated.

Late data can add alerts, which are marked as late and notified once. It never changes or removes existing
alerts. The time is evaluated again like a back-test, and firings that overlap no alert of the same rule and
labels are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from observatory.store.times import from_seconds

MAX_LATENESS = 86_400.0
"""seconds; later data makes no alerts"""
MAX_LOOKBACK = 3_600.0

Ranges = list[tuple[float, float]]
"""(pending, resolved) of existing alerts"""


def add_late(
    connection: psycopg.Connection,
    alerts: OpenAlerts,
    rules: Sequence[ActiveRule],
    evaluate: Callable[[WindowData, ActiveRule], Sequence[Outcome]],
    errors: RuleErrors,
    since: float,
    until: float,
) -> None:
    """Adds the alerts caused by data in [since, until) that wasn't there when that time was evaluated."""
    since = max(since, until - MAX_LATENESS)
    past = min(MAX_LOOKBACK, max((rule.lookback for rule in rules), default=0.0))
    data = WindowData(connection, alerts.cluster, since - past, until)
    data.load(rule.spec for rule in rules)
    existing = _existing(alerts, since - past)
    for rule in rules:
        for outcome in evaluate(data, rule):
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


def _existing(alerts: OpenAlerts, since: float) -> dict[str, Ranges]:
    """The alerts of the cluster that were open after `since`, by fingerprint."""
    recent = Q(resolved=None) | Q(resolved__gt=from_seconds(since))
    found: dict[str, Ranges] = {}
    rows = Alert.objects.filter(recent, cluster=alerts.cluster)
    for fingerprint, pending, resolved in rows.values_list("fingerprint", "pending", "resolved"):
        stop = float("inf") if resolved is None else resolved.timestamp()
        found.setdefault(fingerprint, []).append((pending.timestamp(), stop))
    return found
