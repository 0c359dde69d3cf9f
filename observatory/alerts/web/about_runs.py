"""Which run an alert is about, and which alerts are about a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import Literal

from django.db.models import Exists, OuterRef, Q, QuerySet

from observatory.alerts.models import Alert, Condition
from observatory.alerts.rules.events import (
    ENDED_WITH_ERRORS,
    ERRORS,
    KILLED_WORKER,
    LOGS,
    RULE_EVENTS,
    RUN_SLOWER,
    TASK_ERRED,
)
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.runs.refresh import LATER, end_of
from observatory.store.connection import read_connection
from observatory.store.patterns import pattern
from observatory.store.queries.alerts import events as queries
from observatory.store.queries.alerts.events import KILLED, Asked, Occurrence
from observatory.store.times import from_microseconds, to_microseconds

NEAR = timedelta(milliseconds=1)
"""an alert about a run begins when the run ended, but for rounding; its end can move until LATER"""
MOST_JUDGED = 100
"""alerts of a run of which it is asked whom they are about, the newest ones: each can cost a query"""

LASTING = tuple(name for name, event in RULE_EVENTS.items() if event.is_lasting)
AT_END = Q(kind=Condition.Kind.RUN) | Q(event=RUN_SLOWER.name)
"""conditions on a run that ended"""
OF_CLUSTER = Q(event=ENDED_WITH_ERRORS.name)
"""conditions on the end of a cluster, which is that of its last run with errors"""
COUNTED = Q(kind=Condition.Kind.EVENT) & ~Q(event__in=LASTING)
"""conditions on events that happened at an instant: their alerts go on for a while after it"""
ON_FAILURES = {TASK_ERRED.name, KILLED_WORKER.name}


def alerts_of_scope(alerts: QuerySet[Alert], scope: Scope) -> QuerySet[Alert]:
    """Return those of the alerts of a scope's cluster that it shows: of a run those about the run.

    A public link shows those that began within the run, as far as what they are about happened in it, and
    those about its end.
    """
    start, stop = map(from_microseconds, scope.window)
    if scope.run is None:
        return alerts.filter(pending__lt=stop)
    shown = alerts_of_run(alerts, Run.objects.get(pk=scope.run))
    if not scope.is_public:
        return shown
    return shown.exclude(_has_condition(COUNTED), pending__lt=start).filter(
        Q(pending__lt=stop) | Q(is_about_end())
    )


def is_about_end() -> Exists:
    """Whether alerts are about the end of a run: these begin when it has ended."""
    return _has_condition(AT_END | OF_CLUSTER)


def alerts_of_run(
    alerts: QuerySet[Alert], run: Run, begin: Literal["pending", "fired"] = "pending"
) -> QuerySet[Alert]:
    """Return those of the alerts of a run's cluster that are about the run, and began by its end, or with it.

    Others overlap its window, too: alerts about other runs, about events that happened before it, and about
    failures of tasks that aren't its own.
    """
    within = Q(resolved=None) | Q(resolved__gt=run.start)
    if run.stop is not None:
        within &= Q(**{f"{begin}__lt": run.stop})
    candidates = alerts.filter(_candidates(run, within)).select_related("rule", "cluster")
    occurrences = _Occurrences(run)
    own = [
        alert.pk
        for alert in candidates.prefetch_related("rule__conditions")[:MOST_JUDGED]
        if _is_own(run, alert, occurrences)
    ]
    return alerts.filter((within & ~is_judged(OuterRef("rule"))) | Q(pk__in=own))


def is_judged(rule: OuterRef) -> Exists:
    """Whether it takes more than their times to know about which runs the alerts of a rule are."""
    return Exists(Condition.objects.filter(AT_END | OF_CLUSTER | COUNTED, rule=rule))


def run_of(alert: Alert) -> Run | None:
    """The run that an alert is about: which ended when it began, or its cluster's last with errors."""
    condition = next(iter(alert.rule.conditions.all()), None)
    if condition is None:
        return None
    runs = alert.cluster.runs.order_by("-start", "-pk")
    if condition.kind == Condition.Kind.EVENT and condition.event == ENDED_WITH_ERRORS.name:
        return runs.filter(start__lte=alert.pending).exclude(outcome=Run.Outcome.FINISHED).first()
    if condition.kind == Condition.Kind.RUN:
        runs = runs.filter(name=alert.labels.get("run", ""))
    elif condition.event != RUN_SLOWER.name:
        return None
    return runs.filter(stop__range=(alert.pending - NEAR, alert.pending + LATER)).order_by("stop").first()


def _candidates(run: Run, within: Q) -> Q:
    at_cluster_end = Q(_has_condition(OF_CLUSTER), pending__gte=run.start)
    found = (within & _has_condition(COUNTED)) | at_cluster_end
    if run.stop is None:
        return found
    return found | Q(_has_condition(AT_END), pending__range=(run.stop - LATER, run.stop + NEAR))


def _has_condition(conditions: Q) -> Exists:
    return Exists(Condition.objects.filter(conditions, rule=OuterRef("rule")))


def _is_own(run: Run, alert: Alert, occurrences: _Occurrences) -> bool:
    conditions = list(alert.rule.conditions.all())
    if any(_is_about_runs(condition) for condition in conditions):
        found = run_of(alert)
        return found is not None and found.pk == run.pk
    return all(
        occurrences.includes(condition, alert)
        for condition in conditions
        if _is_counted(condition) and (condition.event in ON_FAILURES or alert.pending < run.start)
    )


def _is_about_runs(condition: Condition) -> bool:
    return condition.kind == Condition.Kind.RUN or condition.event in (
        ENDED_WITH_ERRORS.name,
        RUN_SLOWER.name,
    )


def _is_counted(condition: Condition) -> bool:
    return condition.kind == Condition.Kind.EVENT and condition.event not in LASTING


class _Occurrences:
    """The events in a run that rules count: of failures of tasks, those of the run's own."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._found: dict[tuple[str, int], Sequence[Occurrence]] = {}

    def includes(self, condition: Condition, alert: Alert) -> bool:
        """Whether the alert counted one of them."""
        since = to_microseconds(alert.pending - timedelta(seconds=condition.window_seconds))
        until = None if alert.resolved is None else to_microseconds(alert.resolved)
        search = pattern(condition.pattern).search
        return any(
            since <= each.time
            and (until is None or each.time < until)
            and alert.worker_id in (None, each.worker)
            and (condition.event != KILLED_WORKER.name or each.kind == KILLED)
            and search(each.text)
            for source in RULE_EVENTS[condition.event].sources
            for each in self._of(source, condition.level)
        )

    def _of(self, source: str, level: int) -> Sequence[Occurrence]:
        key = source, level if source == LOGS else 0
        if key not in self._found:
            self._found[key] = self._read(*key)
        return self._found[key]

    def _read(self, source: str, level: int) -> Sequence[Occurrence]:
        cluster = self.run.cluster_id
        with read_connection() as connection:
            if source == ERRORS:
                others = other_work_of(connection, self.run, end_of(self.run))
                found = queries.errors(connection, [Asked(cluster, source, *self._window)], others)
            elif source == LOGS:
                found = queries.log_lines(connection, [Asked(cluster, str(level), *self._window)])
            else:
                found = queries.events(connection, [Asked(cluster, source, *self._window)])
        return found.get(cluster, [])

    @cached_property
    def _window(self) -> tuple[int, int]:
        return to_microseconds(self.run.start), to_microseconds(end_of(self.run))
