"""The evaluator: evaluates the rules of live clusters step by step, as their data becomes complete.

One transaction writes a step's alerts, their deliveries and the progress; several small clusters share it.
Workers lock the cluster's Progress; a locked cluster is skipped. docs/alerts.md describes how far a step goes
and what happens to late data.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import zip_longest

import numpy as np
import psycopg
from django.db import transaction
from django.db.models import Q, QuerySet

from observatory.alerts.evaluation.active_rules import ActiveRule, RuleErrors, load_active_rules
from observatory.alerts.evaluation.late_data import (
    LateWindow,
    Ranges,
    add_late,
    existing_alerts,
    late_windows,
)
from observatory.alerts.evaluation.open_alerts import (
    OpenAlerts,
    TooManyAlerts,
    active_alert_of,
    open_alerts_of,
    save_together,
    subject_of,
)
from observatory.alerts.evaluation.watermark import GRACE, settled, watermark
from observatory.alerts.evaluation.window.data import WindowData, load_together
from observatory.alerts.evaluation.window.evaluate import evaluate_rule
from observatory.alerts.evaluation.window.event_data import present_sources
from observatory.alerts.evaluation.window.outcomes import Outcome, Subject
from observatory.alerts.evaluation.window.runs import last_ends
from observatory.alerts.evaluation.window.state_machine import advance
from observatory.alerts.evaluation.window.steps import SECOND
from observatory.alerts.models import Alert, Progress
from observatory.alerts.rules.conditions import EventCondition, RuleSpec
from observatory.clusters.live.own_cluster import INTERVAL
from observatory.clusters.live.scheduler_clock import scheduler_time
from observatory.clusters.models import Cluster
from observatory.store.connection import return_to_savepoint, set_savepoint, statement_timeout
from observatory.store.late_records import LATENESS, take_late, with_late
from observatory.store.queries.extents import Extent, extents
from observatory.store.times import from_seconds, to_microseconds

log = logging.getLogger(__name__)

MIN_STEP = 0.5
"""seconds; a shorter step waits for more data"""
STEPS_PER_SECOND = 10
"""of all clusters of a shard together: with more clusters each has longer steps"""
LONGEST_MIN_STEP = 30.0
STEPS_TOGETHER = 20
"""of one transaction"""
FEW_WORKERS = 50
"""workers up to which a cluster's step is short enough for others to wait for its commit"""
FEW_WORKERS_OF_LATE = 8
"""the same of a cluster with late data, for which an hour may have to be read"""
PROGRESS_FIELDS = ["until", "settled", "is_over"]
MAX_STEP = 900.0
"""seconds of one step; the following steps catch up"""
MAX_BACKLOG = 3_600.0
"""seconds before its newest record from which on a new cluster is evaluated"""
MAX_WINDOW = 86_400.0
"""seconds after the end of a cluster at which all of its alerts are resolved"""
VALUES_INTERVAL = 30.0
"""seconds after which the latest values of firing alerts are written"""
STATEMENT_TIMEOUT = 120.0
"""seconds after which a query is cancelled, so that the other clusters of the round are evaluated"""
OWN_LAG = LATENESS + 2 * INTERVAL
"""seconds by which the evaluation of Observatory's own cluster is behind when its next sample is stored"""


def clusters_to_evaluate(now: float) -> QuerySet[Cluster]:
    """Live clusters, ended ones that aren't evaluated to their end, and those with late data.

    Observatory's own cluster only as often as it gets samples, so that little happens at rest.
    """
    just_ended = Q(progress=None, ended__gt=from_seconds(now) - timedelta(seconds=MAX_BACKLOG))
    observed = Q(target__isnull=False) | Q(agent_heard__isnull=False)
    late = Q(pk__in=with_late(), progress__isnull=False)
    found = Q(ended=None) | Q(progress__is_over=False) | (just_ended & observed) | late
    is_early = Q(project__is_own=True, progress__until__gt=from_seconds(now - OWN_LAG))
    return Cluster.objects.filter(found & (~is_early | late)).select_related("project", "target")


def evaluate(connection: psycopg.Connection, clusters: Sequence[Cluster], now: float) -> None:
    """Evaluates one step of each cluster; `now` is seconds on our clock.

    A cluster that fails (it is being deleted, the database is down, or a query takes too long) is tried again
    in the next round.
    """
    stored = extents(cluster.pk for cluster in clusters)
    late = set(with_late())
    begun = {progress.cluster_id: progress for progress in Progress.objects.filter(cluster__in=stored)}
    step = min(LONGEST_MIN_STEP, max(MIN_STEP, len(clusters) / STEPS_PER_SECOND))
    due: list[Cluster] = []
    for cluster in clusters:
        if (extent := stored.get(cluster.pk)) is None or not extent.first:
            continue
        progress = begun.get(cluster.pk)
        is_waiting = progress is not None and _is_waiting(progress, watermark(cluster, extent, now), step)
        if not is_waiting or cluster.pk in late or cluster.ended is not None:
            due.append(cluster)
    if not due:
        return
    errors = RuleErrors()
    rules = load_active_rules(errors)
    last_runs = last_ends(cluster.pk for cluster in due)
    present = _present_sources(connection, rules, [(cluster, begun.get(cluster.pk)) for cluster in due])
    steps = []
    for cluster in due:
        step_of = Step(connection, cluster, stored[cluster.pk], now, errors, last_runs.get(cluster.pk))
        step_of.rules = [rule for rule in rules if rule.scope.includes(cluster)]
        step_of.present, step_of.has_late = present.get(cluster.pk), cluster.pk in late
        step_of.is_new = (progress := begun.get(cluster.pk)) is None
        step_of.may_be_late = step_of.has_late or (progress is not None and progress.settled < progress.until)
        steps.append(step_of)
    for some in _transactions(steps):
        _run(connection, some)
    errors.save()


def _transactions(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """The steps of each transaction: of several clusters, if they are small."""
    some: list[Step] = []
    for step in steps:
        few = FEW_WORKERS_OF_LATE if step.may_be_late else FEW_WORKERS
        if step.extent.workers > few:
            yield [step]
            continue
        some.append(step)
        if len(some) == STEPS_TOGETHER:
            yield some
            some = []
    if some:
        yield some


def _run(connection: psycopg.Connection, steps: list[Step]) -> None:
    """Runs steps in one transaction; each in its own if that fails."""
    try:
        _run_together(connection, steps)
    except Exception:  # must not stop the other clusters
        if len(steps) == 1:
            cluster = steps[0].cluster.pk
            log.exception("evaluating the alerts of cluster %d failed and is tried again", cluster)
            return
        for step in steps:
            _run(connection, [step])


def _run_together(connection: psycopg.Connection, steps: Sequence[Step]) -> None:
    clusters = [step.cluster.pk for step in steps]
    with transaction.atomic(), statement_timeout(connection, STATEMENT_TIMEOUT):
        _begin(step.extent for step in steps if step.is_new)
        locked = Progress.objects.select_for_update(skip_locked=True).filter(cluster__in=clusters)
        progress = {each.cluster_id: each for each in locked}
        open_alerts = open_alerts_of(progress)
        late = take_late([step.cluster.pk for step in steps if step.has_late and step.cluster.pk in progress])
        due = [step for step in steps if step.begin(progress.get(step.cluster.pk), late.get(step.cluster.pk))]
        existing = existing_alerts(
            {step.cluster.pk: step.late_since for step in due if step.late_since is not None}
        )
        set_savepoint(connection)
        for windows in zip_longest(*(step.windows() for step in due)):
            load_together(connection, filter(None, windows))
        alerts = [OpenAlerts(step.cluster, open_alerts.get(step.cluster.pk, ())) for step in due]
        moved = [
            step.run(each, existing.get(step.cluster.pk, {})) for step, each in zip(due, alerts, strict=True)
        ]
        save_together(alerts)
        Progress.objects.bulk_create(
            moved, update_conflicts=True, unique_fields=["cluster"], update_fields=PROGRESS_FIELDS
        )


def _present_sources(
    connection: psycopg.Connection,
    rules: Sequence[ActiveRule],
    clusters: Sequence[tuple[Cluster, Progress | None]],
) -> dict[int, set[str]]:
    """What clusters that go on have events of at all: mostly nothing, and each need not be asked for it."""
    conditions = [each for rule in rules for each in rule.spec.conditions if isinstance(each, EventCondition)]
    longest = max((condition.window for condition in conditions), default=0.0)
    since = {
        cluster.pk: to_microseconds(min(cluster.started, progress.until - timedelta(seconds=longest + 1)))
        for cluster, progress in clusters
        if progress is not None
    }
    return present_sources(connection, conditions, since)


def _is_waiting(progress: Progress, until: float, step: float) -> bool:
    """Whether all data before `progress.until` was complete, and less than a step is new until `until`."""
    return progress.settled == progress.until and until - progress.until.timestamp() < step


def _begin(extents: Iterable[Extent]) -> None:
    """Creates the progress of new clusters, at their first record."""
    new = []
    for extent in extents:
        start = from_seconds(max(extent.first, extent.last - MAX_BACKLOG))
        new.append(Progress(cluster_id=extent.cluster, until=start, settled=start))
    Progress.objects.bulk_create(new, ignore_conflicts=True)


class Step:
    """An evaluation step of one cluster, in a transaction."""

    def __init__(
        self,
        connection: psycopg.Connection,
        cluster: Cluster,
        extent: Extent,
        now: float,
        errors: RuleErrors,
        last_run: datetime | None,
    ) -> None:
        """`last_run`: `last_end` of RunData."""
        self.connection = connection
        self.last_run = last_run
        self.present: Collection[str] | None = None
        """as of EventData"""
        self.rules: Sequence[ActiveRule] = ()
        """those in whose scope the cluster is"""
        self.has_late = self.may_be_late = self.is_new = False
        """Whether notes say that it has late data, it may have some, or it wasn't evaluated yet."""
        self.cluster = cluster
        self.extent = extent
        self.errors = errors
        self.clock_offset = scheduler_time(cluster, extent, now) - now
        """seconds by which the scheduler's clock is ahead of ours"""
        self.watermark = watermark(cluster, extent, now)
        self.progress: Progress | None = None
        self.data: WindowData | None = None
        """of the time after the progress; None: there is nothing new"""
        self.late_since: float | None = None
        self.late: list[LateWindow] = []

    def begin(self, progress: Progress | None, late: datetime | None) -> bool:
        """Whether there is new or late data, of the latter since `late`.

        The row of `progress` is locked; None: by another process.
        """
        if progress is None:
            return False
        self.progress, self.data, self.late = progress, None, []
        start = progress.until.timestamp()
        stop = max(start, min(self.watermark, start + MAX_STEP))
        self.late_since = self._late_since(progress, late)
        if stop - start < MIN_STEP and self.late_since is None:
            return False
        if self.late_since is not None:
            self.late = late_windows(self.connection, self.cluster, self.rules, self.late_since, start)
        if stop > start:
            self.data = WindowData(self.connection, self.cluster, start, stop)
        known = [] if self.data is None else [self.data]
        if not self.has_late:  # what is late may have come after it was asked what there is
            known += [window.data for window in self.late]
        for data in known:
            data.extent = self.extent
            data.runs.last_end, data.events.present = self.last_run, self.present
        return True

    def windows(self) -> Iterator[tuple[WindowData, list[RuleSpec]]]:
        """What is evaluated, and for what."""
        if self.data is not None:
            yield self.data, [rule.spec for rule in self.rules]
        for window in self.late:
            yield window.data, [rule.spec for rule in window.rules]

    def run(self, alerts: OpenAlerts, existing: Mapping[str, Ranges]) -> Progress:
        """Evaluates new and late data, of which some began; the progress that it makes.

        `existing`: as of `add_late`.
        """
        assert self.progress is not None
        start = stop = self.progress.until.timestamp()
        if self.late_since is not None:
            add_late(alerts, self.late, existing, self._evaluate_rule, self.errors, self.late_since, start)
        if self.data is not None:
            stop = self.data.stop / SECOND
            self._evaluate(alerts, self.data)
        self._move(self.progress, stop, is_over=not len(alerts))
        return self.progress

    def _late_since(self, progress: Progress, since: datetime | None) -> float | None:
        """The time from which on data was missing when it was evaluated; None: nothing is late.

        Data is late batch by batch, or all at once after a silence during which evaluation followed the
        clock. In the latter case it is evaluated when all of it has arrived.
        """
        found = [] if since is None or since >= progress.until else [since]
        if self._is_caught_up(progress):
            found.append(progress.settled)
        return min(found).timestamp() if found else None

    def _is_caught_up(self, progress: Progress) -> bool:
        start = progress.until.timestamp()
        return progress.settled < progress.until and self._settled(start) >= start

    def _settled(self, stop: float) -> float:
        return stop if self.cluster.ended else min(stop, settled(self.cluster, self.extent))

    def _move(self, progress: Progress, stop: float, is_over: bool) -> None:
        is_settled = self._is_caught_up(progress) or progress.settled == progress.until
        progress.until = from_seconds(stop)
        if is_settled:
            progress.settled = max(progress.settled, from_seconds(self._settled(stop)))
        ended = self.cluster.ended
        progress.is_over = is_over and ended is not None and stop >= ended.timestamp() + GRACE

    def _evaluate(self, alerts: OpenAlerts, data: WindowData) -> None:
        start, stop = data.start / SECOND, data.stop / SECOND
        self._resolve_out_of_scope(alerts, stop)
        # spreads the writes of clusters over time
        shift = self.cluster.pk % VALUES_INTERVAL
        writes_values = (start + shift) // VALUES_INTERVAL != (stop + shift) // VALUES_INTERVAL
        for rule in self.rules:
            known = {subject_of(alert): alert for alert in alerts.of(rule.rule.pk)}
            for outcome in self._evaluate_rule(data, rule, known):
                alert = known.get(outcome.subject)
                if alert is not None and alert.is_firing and writes_values:
                    alerts.set_last_value(alert, float(outcome.values[-1]))
                if alert is None or not alert.is_firing or not outcome.truths.all():
                    self._apply(alerts, rule, outcome, alert, stop)

    def _apply(
        self, alerts: OpenAlerts, rule: ActiveRule, outcome: Outcome, alert: Alert | None, stop: float
    ) -> None:
        firings, active = advance(active_alert_of(alert), outcome, stop, rule.spec.hold)
        try:
            alerts.apply(rule, outcome.subject, alert, firings, active)
        except TooManyAlerts as error:
            self.errors.add(rule.rule, error, self.cluster.name)

    def _resolve_out_of_scope(self, alerts: OpenAlerts, stop: float) -> None:
        """Resolves alerts of rules that no longer apply to the cluster; all, a day after its end."""
        known = {rule.rule.pk for rule in self.rules} | self.errors.rules
        ended = self.cluster.ended
        is_past = ended is not None and stop > ended.timestamp() + MAX_WINDOW
        for alert in alerts:
            if alert.rule_id not in known or is_past:
                alerts.resolve(alert, stop)

    def _evaluate_rule(
        self, data: WindowData, rule: ActiveRule, active: Collection[Subject] = ()
    ) -> list[Outcome]:
        """The outcomes from the time on at which the rule was saved.

        Empty before that time, or if the rule fails: its open alerts stay as they are.
        """
        since = rule.since + self.clock_offset
        if since >= data.stop / 1e6:
            return []
        try:
            outcomes = evaluate_rule(data, rule.spec, active)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            raise  # the database is down, or a query took too long
        except Exception as error:
            if isinstance(error, psycopg.Error):
                # the transaction only reads: the other rules go on in it
                return_to_savepoint(self.connection)
            self.errors.add(rule.rule, error, self.cluster.name)
            return []
        if since <= data.start / 1e6:
            return outcomes
        return [from_time(outcome, since) for outcome in outcomes]


def from_time(outcome: Outcome, since: float) -> Outcome:
    """The part of an outcome from `since` on, which lies in its window."""
    place = int(np.searchsorted(outcome.times, since, side="right")) - 1
    times = outcome.times[place:].copy()
    times[0] = since
    return replace(
        outcome,
        times=times,
        truths=outcome.truths[place:],
        values=outcome.values[place:],
        texts=outcome.texts[place:],
    )
