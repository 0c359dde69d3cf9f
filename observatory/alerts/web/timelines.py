"""The API of a timeline's alerts: of a cluster, a run or a public link."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from django.db.models import Q
from django.http import HttpRequest
from django.views.decorators.http import conditional_page
from ninja import Schema
from ninja.decorators import decorate_view

from observatory.alerts.evaluation.messages import advice_of, description_of
from observatory.alerts.models import Alert, Rule
from observatory.alerts.web.about_runs import alerts_of_scope, is_about_end
from observatory.clusters.api import seconds
from observatory.replay.answers.router import AnswerRouter
from observatory.replay.answers.shared_fields import shared
from observatory.replay.api import scope_of_cluster
from observatory.replay.scope import Scope
from observatory.runs.sharing.timelines import requested_link, requested_run
from observatory.store.times import MAXIMUM_TIME, from_microseconds

MAX_ALERTS = 2000
"""newest alerts of one timeline"""


class RuleText(Schema):
    description: str
    advice: str


@shared("rule", "severity", "pending", "fired", "resolved")
class TimelineAlert(Schema):
    """Times are seconds on the scheduler's clock. Public links leave out what has a default here."""

    rule: str
    severity: Literal["info", "warning", "critical"]
    pending: float
    fired: float | None
    """null: pending"""
    resolved: float | None
    """null: open"""
    id: int = 0
    worker: int | None = None
    labels: dict[str, str] = {}
    message: str = ""
    text: RuleText | None = None
    """the rule's text, if it has placeholders that are filled in for each alert"""
    acknowledged_by: str | None = None
    acknowledgement: str = ""


@shared("alerts")
class TimelineAlerts(Schema):
    alerts: list[TimelineAlert]
    rules: dict[str, RuleText]
    """by name"""


def alerts_of(scope: Scope) -> dict[str, Any]:
    """The alerts that overlap the scope's window, in order of time, and the texts of their rules by name.

    Those of a run are about it; a public link shows them with the times within the window.
    """
    start = from_microseconds(scope.start)
    found = Alert.objects.filter(Q(resolved=None) | Q(resolved__gte=start), cluster=scope.cluster)
    shown = alerts_of_scope(found, scope).annotate(is_about_end=is_about_end())
    newest = shown.select_related("rule", "acknowledged_by")[:MAX_ALERTS]
    alerts = list(reversed(newest))
    return {
        "alerts": [{**_alert(alert), **_shared(alert, scope, alert.is_about_end)} for alert in alerts]
        if scope.is_public
        else [_alert(alert) for alert in alerts],
        "rules": {alert.rule.name: _rule(alert.rule) for alert in alerts},
    }


def alert_router(word: str, scope_of: Callable[[HttpRequest], Scope], **options: Any) -> AnswerRouter:
    """A router for the alerts of a timeline, next to replay's timeline_router."""
    router = AnswerRouter(scope_of, tags=["alerts"], **options)

    @router.get("/alerts", operation_id=f"{word}_alerts", response=TimelineAlerts)
    @decorate_view(conditional_page)
    def alerts(request: HttpRequest) -> dict[str, Any]:
        """The alerts of the timeline; 304 if they haven't changed."""
        return alerts_of(router.scope_of(request))

    return router


clusters = alert_router("cluster", scope_of_cluster)
runs = alert_router("run", requested_run)
links = alert_router("link", requested_link, auth=None)


def _alert(alert: Alert) -> dict[str, Any]:
    by = alert.acknowledged_by
    return {
        "id": alert.pk,
        "rule": alert.rule.name,
        "severity": alert.severity,
        "pending": alert.pending.timestamp(),
        "fired": seconds(alert.fired),
        "resolved": seconds(alert.resolved),
        "worker": alert.worker_id,
        "labels": alert.labels,
        "message": alert.message,
        "text": _text(alert),
        "acknowledged_by": by.get_username() if by else None,
        "acknowledgement": alert.acknowledgement,
    }


def _text(alert: Alert) -> dict[str, Any] | None:
    if "{" not in alert.rule.description + alert.rule.advice:
        return None
    return {"description": description_of(alert), "advice": advice_of(alert)}


def _rule(rule: Rule) -> dict[str, Any]:
    return {"description": rule.description, "advice": rule.advice}


def _shared(alert: Alert, scope: Scope, is_about_end: bool) -> dict[str, Any]:
    """Clips times to the window. One that fires after it is shown as pending, but for one about its end."""
    start, stop = from_microseconds(scope.start), from_microseconds(scope.stop)
    goes_on = alert.resolved is None and scope.stop == MAXIMUM_TIME

    def clip(time: datetime) -> float:
        return min(max(time, start), stop).timestamp()

    return {
        "rule": scope.text(alert.rule.name),
        "pending": clip(alert.pending),
        "fired": clip(alert.fired) if alert.fired and (alert.fired < stop or is_about_end) else None,
        "resolved": None if goes_on else clip(alert.resolved or stop),
    }
