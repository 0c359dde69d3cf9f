"""Which run an alert is about, and which alerts a public link to a run shows."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from observatory.alerts.models import Alert, Condition
from observatory.alerts.rules.events import ENDED_WITH_ERRORS, RULE_EVENTS, RUN_SLOWER
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.times import from_microseconds

NEAR = timedelta(milliseconds=1)
"""an alert about a run begins when the run ended, but for rounding"""
MOST_ABOUT_RUNS = 100
"""alerts about runs of which a link is asked for, the newest ones: each costs two queries"""

LASTING = tuple(name for name, event in RULE_EVENTS.items() if event.is_lasting)
ABOUT_A_RUN = Q(kind=Condition.Kind.RUN) | Q(event__in=(ENDED_WITH_ERRORS.name, RUN_SLOWER.name))
COUNTED = Q(kind=Condition.Kind.EVENT) & ~Q(event__in=LASTING)
"""conditions on events that happened at an instant: their alerts go on for a while after it"""


def alerts_of_link(alerts: QuerySet[Alert], scope: Scope) -> QuerySet[Alert]:
    """Return those of the alerts of a public scope's cluster that are about its run.

    Others overlap its window, too: alerts about other runs, and about events that happened before it.
    """
    about_a_run = Exists(Condition.objects.filter(ABOUT_A_RUN, rule=OuterRef("rule")))
    counted = Exists(Condition.objects.filter(COUNTED, rule=OuterRef("rule")))
    start, stop = map(from_microseconds, scope.window)
    shown = alerts.exclude(counted, pending__lt=start).filter(pending__lt=stop)
    about_runs = shown.filter(about_a_run).select_related("rule", "cluster")[:MOST_ABOUT_RUNS]
    own = [alert.pk for alert in about_runs if _is_about(alert, scope.run)]
    return shown.filter(~about_a_run | Q(pk__in=own))


def _is_about(alert: Alert, run: int | None) -> bool:
    found = run_of(alert)
    return found is not None and found.pk == run


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
