"""The alerts that fired in a run, by rule: for its card, and for notifications about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse

from observatory.alerts.models import Alert, Condition
from observatory.alerts.rules.events import ENDED_WITH_ERRORS, RUN_SLOWER
from observatory.alerts.web.flags import Flag, flags_of_runs
from observatory.alerts.web.links import timeline_path
from observatory.runs.models import Run
from observatory.runs.refresh import end_of

MOST_NAMED = 8
"""rules that a notification names"""
NEAR = timedelta(milliseconds=1)
"""an alert about a run begins when the run ended, but for rounding"""


@dataclass(frozen=True, slots=True)
class FiredRule:
    """The alerts of one rule that were firing in a run."""

    flag: Flag
    first: datetime
    """when the first of them fired; at the earliest the run's start"""
    is_earlier: bool = False
    """the first of them fired before the run; a public link does not tell"""
    message: str = ""
    """of the first"""
    page_path: str = ""
    moment_path: str = ""


def fired_in(run: Run, is_public: bool = False) -> list[FiredRule]:
    """Rules that still fire come first, then the most severe.

    A public link shows names, numbers and times, as its timeline does.
    """
    flags = flags_of_runs([run.pk]).get(run.pk, [])
    if not flags:
        return []
    alerts = Alert.objects.filter(cluster=run.cluster_id, fired__lt=end_of(run)).exclude(
        resolved__lte=run.start
    )
    firsts = alerts.select_related("rule").order_by("rule_id", "fired", "pk").distinct("rule_id")
    by_name = {alert.rule.name: alert for alert in firsts}
    return [_fired(flag, by_name[flag.name], run, is_public) for flag in flags if flag.name in by_name]


def _fired(flag: Flag, alert: Alert, run: Run, is_public: bool) -> FiredRule:
    fired = alert.fired or alert.pending
    first = max(fired, run.start)
    if is_public:
        return FiredRule(flag, first)
    moment = timeline_path(alert.cluster_id, alert.pending.timestamp(), fired.timestamp())
    page = reverse("alert", args=[alert.pk])
    return FiredRule(flag, first, fired < run.start, alert.message, page, moment)


def fired_in_run_of(alert: Alert) -> list[str]:
    """For an alert about a run: the other rules that fired in the run, “Worker lost (3)”."""
    run = run_of(alert)
    if run is None:
        return []
    flags = [flag for flag in flags_of_runs([run.pk]).get(run.pk, []) if flag.name != alert.rule.name]
    named = [f"{flag.name} ({flag.count})" if flag.count > 1 else flag.name for flag in flags[:MOST_NAMED]]
    return [*named, f"{len(flags) - MOST_NAMED} more rules"] if len(flags) > MOST_NAMED else named


def run_of(alert: Alert) -> Run | None:
    """The run that an alert is about: which ended when it began, or was the last of its cluster."""
    condition = alert.rule.conditions.first()
    if condition is None:
        return None
    runs = alert.cluster.runs.order_by("-start", "-pk")
    if condition.kind == Condition.Kind.EVENT and condition.event == ENDED_WITH_ERRORS.name:
        return runs.filter(start__lte=alert.pending).first()
    if condition.kind == Condition.Kind.RUN:
        runs = runs.filter(name=alert.labels.get("run", ""))
    elif condition.event != RUN_SLOWER.name:
        return None
    return runs.filter(stop__range=(alert.pending - NEAR, alert.pending + NEAR)).first()
