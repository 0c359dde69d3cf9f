"""The alerts of a cluster that aren't resolved, and what becomes of them in a step; written once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import md5

from observatory.alerts.evaluation.active_rules import Asked
from observatory.alerts.evaluation.messages import message
from observatory.alerts.judging.firings import Firing, Standing
from observatory.alerts.judging.verdicts import Subject
from observatory.alerts.models import Alert, Delivery
from observatory.alerts.notifying.routing import enqueue
from observatory.clusters.models import Cluster
from observatory.store.times import from_seconds

MOST = 1_000
"""alerts of one rule and cluster that are open at the same time"""
AT_ONCE = 500
"""rows in one statement"""
WRITTEN = ("severity", "state", "pending", "fired", "resolved", "value", "last_value", "message")
"""by us; an acknowledgement isn't"""


class TooMany(Exception):
    """A rule has more alerts of a cluster than anybody can look at."""


class Record:
    """For one cluster, in the transaction that holds its Progress."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._open: dict[int, dict[str, Alert]] = {}
        """by rule and fingerprint"""
        self._made: list[Alert] = []
        self._changed: dict[int, Alert] = {}
        self._dropped: list[int] = []
        self._changes: list[tuple[Alert, Delivery.Change]] = []
        for alert in Alert.objects.filter(cluster=cluster).exclude(state=Alert.State.RESOLVED):
            self._open.setdefault(alert.rule_id, {})[alert.fingerprint] = alert

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def of(self, rule: int) -> list[Alert]:
        """The open alerts of a rule."""
        return list(self._open.get(rule, {}).values())

    def open(self) -> Iterator[Alert]:
        for alerts in list(self._open.values()):
            yield from list(alerts.values())

    def settle(
        self,
        asked: Asked,
        subject: Subject,
        alert: Alert | None,
        firings: Sequence[Firing],
        standing: Standing | None,
    ) -> None:
        """Takes up what the state machine made of a subject, whose open alert is given. Raises TooMany."""
        for firing in firings:
            alert = alert or self._make(asked, subject, firing.pending)
            self._fire(alert, asked, firing)
            if firing.resolved is not None:
                self.resolve(alert, firing.resolved)
                alert = None
        if standing is not None:
            alert = alert or self._make(asked, subject, standing.pending)
            if not alert.is_firing and alert.pending != from_seconds(standing.pending):
                alert.pending = from_seconds(standing.pending)
                self._change(alert)
        elif alert is not None:
            self.drop(alert)

    def add_late(
        self, asked: Asked, subject: Subject, firings: Sequence[Firing], standing: Standing | None
    ) -> None:
        """What late data tells of a time of which nothing was said; it goes on where it stands still."""
        fingerprint = fingerprint_of(asked.rule.pk, self.cluster.pk, subject)
        known = self._open.get(asked.rule.pk, {}).get(fingerprint)
        for firing in firings:
            alert = self._make(asked, subject, firing.pending, is_late=True)
            self._fire(alert, asked, firing)
            if firing.resolved is not None:
                self.resolve(alert, firing.resolved)
        if standing is not None and standing.fired is None:
            self._make(asked, subject, standing.pending, is_late=True)
        if known is not None:
            self._open[asked.rule.pk][fingerprint] = known

    def saw(self, alert: Alert, value: float) -> None:
        """The newest value of what the alert is of."""
        alert.last_value = number(value)
        self._change(alert)

    def resolve(self, alert: Alert, time: float) -> None:
        """Ends an alert; one that didn't fire is as if it had never been."""
        if not alert.is_firing or alert.fired is None:
            self.drop(alert)
            return
        alert.state, alert.resolved = Alert.State.RESOLVED, max(from_seconds(time), alert.fired)
        self._change(alert)
        self._changes.append((alert, Delivery.Change.RESOLVED))
        del self._open[alert.rule_id][alert.fingerprint]

    def drop(self, alert: Alert) -> None:
        """Forgets one that was pending."""
        del self._open[alert.rule_id][alert.fingerprint]
        if alert.pk is None:
            self._made.remove(alert)
        else:
            self._changed.pop(alert.pk, None)
            self._dropped.append(alert.pk)

    def save(self) -> None:
        """Writes what changed, and whom it is to be told."""
        if self._dropped:
            Alert.objects.filter(pk__in=self._dropped).delete()
        if self._changed:
            # bulk_update would write a CASE for each row and column, which takes Django far longer to make
            Alert.objects.bulk_create(
                self._changed.values(),
                update_conflicts=True,
                unique_fields=["id"],
                update_fields=WRITTEN,
                batch_size=AT_ONCE,
            )
        if self._made:
            Alert.objects.bulk_create(self._made, batch_size=AT_ONCE)
        if self._changes:
            enqueue(self._changes)

    def _make(self, asked: Asked, subject: Subject, pending: float, is_late: bool = False) -> Alert:
        alerts = self._open.setdefault(asked.rule.pk, {})
        if len(alerts) >= MOST:
            raise TooMany(f"more than {MOST:,} alerts at the same time: the others aren't told")
        alert = Alert(
            rule=asked.rule,
            cluster=self.cluster,
            worker_id=subject.worker_id,
            labels=dict(subject.labels),
            fingerprint=fingerprint_of(asked.rule.pk, self.cluster.pk, subject),
            severity=asked.rule.severity,
            state=Alert.State.PENDING,
            pending=from_seconds(pending),
            is_late=is_late,
        )
        alerts[alert.fingerprint] = alert
        self._made.append(alert)
        return alert

    def _fire(self, alert: Alert, asked: Asked, firing: Firing) -> None:
        if alert.is_firing:
            return
        alert.rule, alert.cluster = asked.rule, self.cluster
        alert.state, alert.severity = Alert.State.FIRING, asked.rule.severity
        alert.pending, alert.fired = from_seconds(firing.pending), from_seconds(firing.fired)
        alert.value = alert.last_value = number(firing.value)
        alert.message = message(alert, asked.spec, firing.text)
        self._change(alert)
        self._changes.append((alert, Delivery.Change.FIRING))

    def _change(self, alert: Alert) -> None:
        if alert.pk is not None:
            self._changed[alert.pk] = alert


def subject_of(alert: Alert) -> Subject:
    return Subject(alert.worker_id, alert.labels)


def standing_of(alert: Alert | None) -> Standing | None:
    if alert is None:
        return None
    value = float("nan") if alert.value is None else alert.value
    fired = None if alert.fired is None else alert.fired.timestamp()
    return Standing(alert.pending.timestamp(), fired, value)


def fingerprint_of(rule: int, cluster: int, subject: Subject) -> str:
    """The same for what is the same alert."""
    worker, labels = subject.identity
    known = json.dumps([rule, cluster, worker, sorted(labels)])
    return md5(known.encode(), usedforsecurity=False).hexdigest()


def number(value: float) -> float | None:
    """A column's value: no number is none."""
    return None if value != value else value
