"""The alerts that fired in a run, by rule: for its card, and for notifications about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q, QuerySet
from django.urls import reverse

from observatory.alerts.models import Alert
from observatory.alerts.web.about_runs import alerts_of_run, alerts_of_scope, is_about_end, run_of
from observatory.alerts.web.flags import Flag, flags_of_alerts
from observatory.alerts.web.links import timeline_path
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.runs.refresh import end_of

MOST_NAMED = 8
"""rules that a notification names"""


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


def fired_in(run: Run) -> list[FiredRule]:
    """Rules that still fire come first, then the most severe."""
    alerts = _fired_alerts(run)
    flags = flags_of_alerts(alerts)
    by_name = _firsts(alerts) if flags else {}
    return [_fired(flag, by_name[flag.name], run) for flag in flags if flag.name in by_name]


def fired_of(run: Run, scope: Scope) -> list[FiredRule]:
    """As the scope, of the run or of a link to it, shows them."""
    return _fired_in_link(run, scope) if scope.is_public else fired_in(run)


def _fired_in_link(run: Run, scope: Scope) -> list[FiredRule]:
    """A public link shows names, numbers and times within the run, as its timeline does."""
    fired = Q(fired__lt=end_of(run)) | Q(is_about_end(), fired__isnull=False)
    alerts = alerts_of_scope(Alert.objects.filter(fired, cluster=run.cluster_id), scope)
    by_name = _firsts(alerts)
    return [
        FiredRule(
            replace(flag, name=scope.text(flag.name)),
            min(_fired_at(by_name[flag.name], run), end_of(run)),
        )
        for flag in flags_of_alerts(alerts, with_state=False)
    ]


def _fired_alerts(run: Run) -> QuerySet[Alert]:
    """Those about the run that fired by its end, and those about its end."""
    return alerts_of_run(Alert.objects.filter(cluster=run.cluster_id, fired__isnull=False), run, "fired")


def _firsts(alerts: QuerySet[Alert]) -> dict[str, Alert]:
    """The first alert of each rule, by the rule's name."""
    firsts = alerts.select_related("rule").order_by("rule_id", "fired", "pk").distinct("rule_id")
    return {alert.rule.name: alert for alert in firsts}


def _fired_at(alert: Alert, run: Run) -> datetime:
    return max(alert.fired or alert.pending, run.start)


def _fired(flag: Flag, alert: Alert, run: Run) -> FiredRule:
    fired = alert.fired or alert.pending
    moment = timeline_path(alert.cluster_id, alert.pending.timestamp(), fired.timestamp())
    page = reverse("alert", args=[alert.pk])
    return FiredRule(flag, _fired_at(alert, run), fired < run.start, alert.message, page, moment)


def fired_in_run_of(alert: Alert) -> list[str]:
    """For an alert about a run: the other rules that fired in the run, “Worker lost (3)”."""
    run = run_of(alert)
    if run is None:
        return []
    flags = [flag for flag in flags_of_alerts(_fired_alerts(run)) if flag.name != alert.rule.name]
    named = [f"{flag.name} ({flag.count})" if flag.count > 1 else flag.name for flag in flags[:MOST_NAMED]]
    return [*named, f"{len(flags) - MOST_NAMED} more rules"] if len(flags) > MOST_NAMED else named
