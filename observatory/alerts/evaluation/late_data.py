"""Late data: what came after its time had been evaluated.

It can add alerts, which say that they are late and are told once. It never changes or removes what was said.
So the time is judged anew as a back-test would, and firings that overlap no alert of their rule and labels
are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psycopg
from django.db.models import Q

from observatory.alerts.evaluation.active_rules import Asked, Errors
from observatory.alerts.evaluation.open_alerts import Record, TooMany, fingerprint_of
from observatory.alerts.judging.firings import Firing, advance
from observatory.alerts.judging.readings import Readings
from observatory.alerts.judging.verdicts import Verdict
from observatory.alerts.models import Alert
from observatory.store.times import from_seconds

LATEST = 86_400.0
"""seconds; what is later than that isn't asked any more"""
LONGEST_LOOKBACK = 3_600.0

Told = list[tuple[float, float]]
"""from pending until resolved, of alerts that there are"""


def add_late(
    connection: psycopg.Connection,
    record: Record,
    asked: Sequence[Asked],
    judge: Callable[[Readings, Asked], Sequence[Verdict]],
    errors: Errors,
    since: float,
    until: float,
) -> None:
    """Adds the alerts that data in [since, until) makes, which had been evaluated without it."""
    since = max(since, until - LATEST)
    past = min(LONGEST_LOOKBACK, max((one.lookback for one in asked), default=0.0))
    readings = Readings(connection, record.cluster, since - past, until)
    readings.load(one.spec for one in asked)
    told = _told(record, since - past)
    for one in asked:
        for verdict in judge(readings, one):
            firings, standing = advance(None, verdict, until, one.spec.hold)
            known = told.get(fingerprint_of(one.rule.pk, record.cluster.pk, verdict.subject), [])
            new = [firing for firing in firings if _is_new(firing, since, known)]
            if standing is not None and any(stop > standing.pending for _, stop in known):
                standing = None
            try:
                record.add_late(one, verdict.subject, new, standing)
            except TooMany as error:
                errors.failed(one.rule, error, record.cluster.name)


def _is_new(firing: Firing, since: float, told: Told) -> bool:
    stop = float("inf") if firing.resolved is None else firing.resolved
    return stop > since and not any(start < stop and end > firing.pending for start, end in told)


def _told(record: Record, since: float) -> dict[str, Told]:
    """By fingerprint."""
    lately = Q(resolved=None) | Q(resolved__gt=from_seconds(since))
    told: dict[str, Told] = {}
    alerts = Alert.objects.filter(lately, cluster=record.cluster)
    for fingerprint, pending, resolved in alerts.values_list("fingerprint", "pending", "resolved"):
        stop = float("inf") if resolved is None else resolved.timestamp()
        told.setdefault(fingerprint, []).append((pending.timestamp(), stop))
    return told
