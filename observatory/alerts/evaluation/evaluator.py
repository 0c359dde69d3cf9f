"""The evaluator: asks the rules of live clusters, step by step as their data becomes complete.

A step of a cluster is one transaction: its alerts, whom they are to be told, and how far it got are true
together or not at all. Whoever holds the lock of its Progress does it; a second one passes by.
docs/alerts.md says how far a step goes, and what becomes of late data.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import psycopg
from django.db import transaction
from django.db.models import Q, QuerySet

from observatory.alerts.evaluation.active_rules import Asked, Errors, asked_rules
from observatory.alerts.evaluation.late_data import add_late
from observatory.alerts.evaluation.open_alerts import Record, TooMany, standing_of, subject_of
from observatory.alerts.evaluation.watermark import GRACE, clock, horizon, settled
from observatory.alerts.judging.firings import advance
from observatory.alerts.judging.judge import judge
from observatory.alerts.judging.readings import Readings
from observatory.alerts.judging.verdicts import Subject, Verdict
from observatory.alerts.models import Alert, Progress
from observatory.clusters.models import Cluster
from observatory.store.ingest.late import take_late, with_late
from observatory.store.queries.extents import Extent, extents
from observatory.store.times import from_seconds

log = logging.getLogger(__name__)

LEAST_STEP = 0.5
"""seconds; what is less waits for more"""
LONGEST_STEP = 900.0
"""seconds that are evaluated at once; the rest is caught up with in the steps after it"""
FARTHEST_BACK = 3_600.0
"""seconds before its newest record that a cluster is evaluated from which nobody had looked at"""
LONGEST_WINDOW = 86_400.0
"""seconds after a cluster's end at which nothing of it can go on"""
VALUES_EVERY = 30.0
"""seconds after which the newest values of what fires are written"""


def wanted_clusters(now: float) -> QuerySet[Cluster]:
    """Those that live, those whose end isn't evaluated, and those that something late came of."""
    just_ended = Q(progress=None, ended__gt=from_seconds(now) - timedelta(seconds=FARTHEST_BACK))
    observed = Q(target__isnull=False) | Q(agent_heard__isnull=False)
    late = Q(pk__in=with_late(), progress__isnull=False)
    wanted = Q(ended=None) | Q(progress__is_over=False) | (just_ended & observed) | late
    return Cluster.objects.filter(wanted).select_related("target")


def evaluate(connection: psycopg.Connection, clusters: Sequence[Cluster], now: float) -> None:
    """Takes a step with each; `now` is our clock's, in seconds.

    One that fails, since it is being deleted or the database is away, is left for the next time.
    """
    errors = Errors()
    asked = asked_rules(errors)
    stored = extents(cluster.pk for cluster in clusters)
    late = set(with_late())
    begun = set(Progress.objects.filter(cluster__in=stored).values_list("cluster", flat=True))
    for cluster in clusters:
        if (extent := stored.get(cluster.pk)) is None or not extent.first:
            continue
        here = [one for one in asked if one.scope.holds(cluster)]
        try:
            with transaction.atomic():
                if cluster.pk not in begun:
                    _begin(extent)
                Step(connection, cluster, extent, now, errors).take(here, cluster.pk in late)
        except Exception:  # whatever it is, the other clusters go on
            log.exception("the alerts of cluster %d are evaluated later", cluster.pk)
    errors.save()


def _begin(extent: Extent) -> None:
    """With a cluster that is new, at its first record."""
    start = from_seconds(max(extent.first, extent.last - FARTHEST_BACK))
    new = Progress(cluster_id=extent.cluster, until=start, settled=start)
    Progress.objects.bulk_create([new], ignore_conflicts=True)


class Step:
    """Of one cluster, in a transaction."""

    def __init__(
        self,
        connection: psycopg.Connection,
        cluster: Cluster,
        extent: Extent,
        now: float,
        errors: Errors,
    ) -> None:
        self.connection = connection
        self.cluster = cluster
        self.extent = extent
        self.errors = errors
        self.ahead = clock(cluster, extent, now) - now
        """seconds that the scheduler's clock is ahead of ours"""
        self.farthest = horizon(cluster, extent, now)

    def take(self, asked: Sequence[Asked], has_late: bool) -> None:
        """Evaluates what is new and what came late, unless somebody else is about it."""
        locked = Progress.objects.select_for_update(skip_locked=True)
        progress = locked.filter(cluster=self.cluster).first()
        if progress is None:
            return
        start = progress.until.timestamp()
        stop = max(start, min(self.farthest, start + LONGEST_STEP))
        is_caught_up = progress.settled < progress.until and self._settled(start) >= start
        late_since = self._late_since(progress, has_late, is_caught_up)
        if stop - start < LEAST_STEP and late_since is None:
            return
        record = Record(self.cluster)
        if late_since is not None:
            add_late(self.connection, record, asked, self._judge, self.errors, late_since, start)
        if stop > start:
            self._evaluate(record, asked, start, stop)
        record.save()
        self._move(progress, stop, is_caught_up, is_over=not len(record))

    def _late_since(self, progress: Progress, has_late: bool, is_caught_up: bool) -> float | None:
        """Since when there are data that weren't there when their time was evaluated; None: nowhere.

        They come late one by one, or all at once after a silence during which the clock had gone on. That
        is waited for until all of it is there.
        """
        since = take_late(self.cluster.pk) if has_late else None
        found = [] if since is None or since >= progress.until else [since]
        if is_caught_up:
            found.append(progress.settled)
        return min(found).timestamp() if found else None

    def _settled(self, stop: float) -> float:
        return stop if self.cluster.ended else min(stop, settled(self.cluster, self.extent))

    def _move(self, progress: Progress, stop: float, is_caught_up: bool, is_over: bool) -> None:
        is_settled = is_caught_up or progress.settled == progress.until
        progress.until = from_seconds(stop)
        if is_settled:
            progress.settled = max(progress.settled, from_seconds(self._settled(stop)))
        ended = self.cluster.ended
        progress.is_over = is_over and ended is not None and stop >= ended.timestamp() + GRACE
        progress.save(update_fields=["until", "settled", "is_over"])

    def _evaluate(self, record: Record, asked: Sequence[Asked], start: float, stop: float) -> None:
        readings = Readings(self.connection, self.cluster, start, stop)
        readings.load(one.spec for one in asked)
        self._resolve_unasked(record, asked, stop)
        # each cluster at another time
        shift = self.cluster.pk % VALUES_EVERY
        tells_values = (start + shift) // VALUES_EVERY != (stop + shift) // VALUES_EVERY
        for one in asked:
            known = {subject_of(alert): alert for alert in record.of(one.rule.pk)}
            for verdict in self._judge(readings, one, known):
                alert = known.get(verdict.subject)
                if alert is not None and alert.is_firing and tells_values:
                    record.saw(alert, float(verdict.values[-1]))
                if alert is None or not alert.is_firing or not verdict.levels.all():
                    self._settle(record, one, verdict, alert, stop)

    def _settle(
        self, record: Record, asked: Asked, verdict: Verdict, alert: Alert | None, stop: float
    ) -> None:
        firings, standing = advance(standing_of(alert), verdict, stop, asked.spec.hold)
        try:
            record.settle(asked, verdict.subject, alert, firings, standing)
        except TooMany as error:
            self.errors.failed(asked.rule, error, self.cluster.name)

    def _resolve_unasked(self, record: Record, asked: Sequence[Asked], stop: float) -> None:
        """Ends alerts of rules that aren't asked here any more; all, a day after the cluster's end."""
        rules = {one.rule.pk for one in asked} | self.errors.rules
        ended = self.cluster.ended
        is_past = ended is not None and stop > ended.timestamp() + LONGEST_WINDOW
        for alert in record.open():
            if alert.rule_id not in rules or is_past:
                record.resolve(alert, stop)

    def _judge(self, readings: Readings, asked: Asked, standing: Collection[Subject] = ()) -> list[Verdict]:
        """Since the rule is asked; none where it isn't yet, or fails: then its alerts stay as they are."""
        since = asked.since + self.ahead
        if since >= readings.stop / 1e6:
            return []
        try:
            verdicts = judge(readings, asked.spec, standing)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            raise  # the database is away
        except Exception as error:
            self.errors.failed(asked.rule, error, self.cluster.name)
            return []
        if since <= readings.start / 1e6:
            return verdicts
        return [from_time(verdict, since) for verdict in verdicts]


def from_time(verdict: Verdict, since: float) -> Verdict:
    """What a verdict, which begins before `since`, says from then on."""
    place = int(np.searchsorted(verdict.times, since, side="right")) - 1
    times = verdict.times[place:].copy()
    times[0] = since
    return replace(
        verdict,
        times=times,
        levels=verdict.levels[place:],
        values=verdict.values[place:],
        texts=verdict.texts[place:],
    )
