"""The pending and firing alerts of a cluster, and their changes during an evaluation step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import md5

from observatory.alerts.evaluation.active_rules import ActiveRule
from observatory.alerts.evaluation.messages import message
from observatory.alerts.evaluation.window.outcomes import Subject
from observatory.alerts.evaluation.window.state_machine import ActiveAlert, Firing
from observatory.alerts.models import Alert
from observatory.alerts.notifying.message import Change
from observatory.alerts.notifying.routing import enqueue
from observatory.clusters.models import Cluster
from observatory.store.times import from_seconds

MAX_ALERTS = 1_000
"""open alerts of one rule and cluster"""
BATCH_SIZE = 500
"""rows in one statement"""
WRITTEN = ("severity", "state", "pending", "fired", "resolved", "value", "last_value", "message")
"""columns that the evaluator writes; users write acknowledgements meanwhile"""


class TooManyAlerts(Exception):
    """A rule has reached MAX_ALERTS for a cluster."""


def open_alerts_of(clusters: Iterable[int]) -> dict[int, list[Alert]]:
    """By cluster, in the transaction that holds the locks on the clusters' Progress."""
    found: dict[int, list[Alert]] = {}
    for alert in Alert.objects.filter(cluster__in=list(clusters)).exclude(state=Alert.State.RESOLVED):
        found.setdefault(alert.cluster_id, []).append(alert)
    return found


class OpenAlerts:
    """The open alerts of one cluster, in the transaction that holds the lock on its Progress."""

    def __init__(self, cluster: Cluster, alerts: Iterable[Alert]) -> None:
        self.cluster = cluster
        self._open: dict[int, dict[str, Alert]] = {}
        """by rule and fingerprint"""
        self.made: list[Alert] = []
        self.changed: dict[int, Alert] = {}
        self.dropped: list[int] = []
        self.changes: list[tuple[Alert, Change]] = []
        for alert in alerts:
            self._open.setdefault(alert.rule_id, {})[alert.fingerprint] = alert

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def __iter__(self) -> Iterator[Alert]:
        for alerts in list(self._open.values()):
            yield from list(alerts.values())

    def of(self, rule: int) -> list[Alert]:
        """The open alerts of a rule."""
        return list(self._open.get(rule, {}).values())

    def apply(
        self,
        rule: ActiveRule,
        subject: Subject,
        alert: Alert | None,
        firings: Sequence[Firing],
        active: ActiveAlert | None,
    ) -> None:
        """Applies the result of the state machine to a subject with this open alert. Raises TooManyAlerts."""
        for firing in firings:
            alert = alert or self._make(rule, subject, firing.pending)
            self._fire(alert, rule, firing)
            if firing.resolved is not None:
                self.resolve(alert, firing.resolved)
                alert = None
        if active is not None:
            alert = alert or self._make(rule, subject, active.pending)
            if not alert.is_firing and alert.pending != from_seconds(active.pending):
                alert.pending = from_seconds(active.pending)
                self._change(alert)
        elif alert is not None:
            self.drop(alert)

    def add_late(
        self, rule: ActiveRule, subject: Subject, firings: Sequence[Firing], active: ActiveAlert | None
    ) -> None:
        """Adds alerts that late data causes. An open alert of the subject stays open."""
        fingerprint = fingerprint_of(rule.rule.pk, self.cluster.pk, subject)
        known = self._open.get(rule.rule.pk, {}).get(fingerprint)
        for firing in firings:
            alert = self._make(rule, subject, firing.pending, is_late=True)
            self._fire(alert, rule, firing)
            if firing.resolved is not None:
                self.resolve(alert, firing.resolved)
        if active is not None and active.fired is None:
            self._make(rule, subject, active.pending, is_late=True)
        if known is not None:
            self._open[rule.rule.pk][fingerprint] = known

    def set_last_value(self, alert: Alert, value: float) -> None:
        alert.last_value = none_if_nan(value)
        self._change(alert)

    def resolve(self, alert: Alert, time: float) -> None:
        """Resolves a firing alert and drops a pending one."""
        if not alert.is_firing or alert.fired is None:
            self.drop(alert)
            return
        alert.state, alert.resolved = Alert.State.RESOLVED, max(from_seconds(time), alert.fired)
        self._change(alert)
        self.changes.append((alert, Change.RESOLVED))
        del self._open[alert.rule_id][alert.fingerprint]

    def drop(self, alert: Alert) -> None:
        """Deletes a pending alert."""
        del self._open[alert.rule_id][alert.fingerprint]
        if alert.pk is None:
            self.made.remove(alert)
        else:
            self.changed.pop(alert.pk, None)
            self.dropped.append(alert.pk)

    def _make(self, rule: ActiveRule, subject: Subject, pending: float, is_late: bool = False) -> Alert:
        alerts = self._open.setdefault(rule.rule.pk, {})
        if len(alerts) >= MAX_ALERTS:
            raise TooManyAlerts(f"more than {MAX_ALERTS:,} alerts at the same time: the others are left out")
        alert = Alert(
            rule=rule.rule,
            cluster=self.cluster,
            worker_id=subject.worker_id,
            labels=dict(subject.labels),
            fingerprint=fingerprint_of(rule.rule.pk, self.cluster.pk, subject),
            severity=rule.rule.severity,
            state=Alert.State.PENDING,
            pending=from_seconds(pending),
            is_late=is_late,
        )
        alerts[alert.fingerprint] = alert
        self.made.append(alert)
        return alert

    def _fire(self, alert: Alert, rule: ActiveRule, firing: Firing) -> None:
        if alert.is_firing:
            return
        alert.rule, alert.cluster = rule.rule, self.cluster
        alert.state, alert.severity = Alert.State.FIRING, rule.rule.severity
        alert.pending, alert.fired = from_seconds(firing.pending), from_seconds(firing.fired)
        alert.value = alert.last_value = none_if_nan(firing.value)
        alert.message = message(alert, rule.spec, firing.text)
        self._change(alert)
        self.changes.append((alert, Change.FIRING))

    def _change(self, alert: Alert) -> None:
        if alert.pk is not None:
            self.changed[alert.pk] = alert


def save_together(clusters: Sequence[OpenAlerts]) -> None:
    """Writes the changes of clusters and the deliveries that they cause."""
    if dropped := [alert for each in clusters for alert in each.dropped]:
        Alert.objects.filter(pk__in=dropped).delete()
    if changed := [alert for each in clusters for alert in each.changed.values()]:
        # bulk_update makes a CASE for each row and column, which costs Django far more time
        Alert.objects.bulk_create(
            changed,
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=WRITTEN,
            batch_size=BATCH_SIZE,
        )
    if made := [alert for each in clusters for alert in each.made]:
        Alert.objects.bulk_create(made, batch_size=BATCH_SIZE)
    if changes := [change for each in clusters for change in each.changes]:
        enqueue(changes)


def subject_of(alert: Alert) -> Subject:
    return Subject(alert.worker_id, alert.labels)


def active_alert_of(alert: Alert | None) -> ActiveAlert | None:
    """The stored alert as the state machine knows it."""
    if alert is None:
        return None
    value = float("nan") if alert.value is None else alert.value
    fired = None if alert.fired is None else alert.fired.timestamp()
    return ActiveAlert(alert.pending.timestamp(), fired, value)


def fingerprint_of(rule: int, cluster: int, subject: Subject) -> str:
    """A hash of rule, cluster and subject."""
    worker, labels = subject.identity
    known = json.dumps([rule, cluster, worker, sorted(labels)])
    return md5(known.encode(), usedforsecurity=False).hexdigest()


def none_if_nan(value: float) -> float | None:
    return None if value != value else value
