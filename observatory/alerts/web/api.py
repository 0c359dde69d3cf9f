"""The REST API of alerts. timelines.py has the alerts of a timeline."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema, Status

from observatory.alerts.evaluation.messages import advice_of, description_of
from observatory.alerts.models import Alert
from observatory.alerts.silences.alert_form import SilenceAlertForm
from observatory.alerts.web import access
from observatory.alerts.web.acknowledgement import acknowledge
from observatory.alerts.web.listing import AlertFilter, find_alerts
from observatory.clusters.api import seconds
from observatory.clusters.api_lists import page_of, read_field
from observatory.clusters.refusal import Refusal, refusal, refused
from observatory.runs.window import time_from_epoch

MAXIMUM_PAGE_SIZE = 200

router = Router(tags=["alerts"])

Text = Annotated[str, Field(max_length=200)]
Order = Literal["since", "-since", "severity", "-severity", "rule", "-rule", "cluster", "-cluster"]


class AlertQuery(Schema):
    """Times are seconds. A missing parameter doesn't filter."""

    state: Literal["", "pending", "firing", "resolved"] = ""
    severity: Literal["", "info", "warning", "critical"] = ""
    project: Text = ""
    cluster: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    rule: Text = ""
    """its name"""
    text: Text = ""
    since: float | None = None
    """excludes alerts that were resolved before"""
    until: float | None = None
    """excludes alerts that began later"""
    order: Order = "-since"
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: Annotated[int, Field(ge=1, le=MAXIMUM_PAGE_SIZE)] = 50


class Acknowledgement(Schema):
    note: Annotated[str, Field(max_length=1000)] = ""


class NewSilence(Schema):
    """`of`: this alert only, its rule on its cluster, or its rule in the whole project."""

    lasts: Literal["1h", "4h", "1d", "until"] = "1h"
    until: str | None = None
    """ISO 8601, if `lasts` is "until" """
    of: Literal["alert", "cluster", "project"] = "alert"
    comment: str = ""


class SilenceOut(Schema):
    id: int
    matchers: str
    starts: float
    expires: float
    comment: str


class AlertOut(Schema):
    """Times are seconds since the epoch on the scheduler's clock; `acknowledged` is by ours."""

    id: int
    rule: str
    severity: Literal["info", "warning", "critical"]
    state: Literal["pending", "firing", "resolved"]
    project: str
    cluster: int
    cluster_name: str
    worker: int | None
    """id of the worker's lifetime; its name is in the labels"""
    labels: dict[str, str]
    pending: float
    fired: float | None
    resolved: float | None
    value: float | None
    """of the first condition when the alert fired"""
    last_value: float | None
    message: str
    is_late: bool
    finding: str
    """of those around it, that its notifications have; empty before the first, or where nothing stood out"""
    description: str
    """what it means"""
    advice: str
    """what to do"""
    acknowledged: float | None
    acknowledged_by: str | None
    acknowledgement: str


class AlertPage(Schema):
    items: list[AlertOut]
    count: int
    page: int
    pages: int


@router.get("/alerts", response={200: AlertPage, 422: Refusal})
def list_alerts(request: HttpRequest, query: Query[AlertQuery]) -> Any:
    """The alerts that match the query; a page beyond the last returns the last."""
    try:
        alert_filter = _filter_of(query)
    except ValidationError as error:
        return refusal(error.message_dict)
    found = find_alerts(cast(User, request.user), alert_filter)
    return page_of(found, query.page, query.page_size, _alert)


@router.get("/alerts/{int:alert_id}", response=AlertOut)
def get_alert(request: HttpRequest, alert_id: int) -> dict[str, Any]:
    return _alert(access.get_alert(cast(User, request.user), alert_id))


@router.post("/alerts/{int:alert_id}/acknowledge", response=AlertOut)
def acknowledge_alert(request: HttpRequest, alert_id: int, sent: Acknowledgement) -> dict[str, Any]:
    """Acknowledges the alert: makes you its assignee and ends reminders."""
    user = cast(User, request.user)
    alert = access.get_alert_to_answer(user, alert_id)
    acknowledge(alert, user, sent.note)
    return _alert(alert)


@router.post("/alerts/{int:alert_id}/silence", response={201: SilenceOut, 422: Refusal})
def silence_alert(request: HttpRequest, alert_id: int, new: NewSilence) -> Any:
    """Silences the alert, or similar ones: no notifications until the silence expires."""
    user = cast(User, request.user)
    form = SilenceAlertForm(access.get_alert_to_answer(user, alert_id), user, new.dict())
    if not form.is_valid():
        return refused(form)
    silence = form.save()
    return Status(
        201,
        {
            "id": silence.pk,
            "matchers": silence.matchers,
            "starts": silence.starts.timestamp(),
            "expires": silence.expires.timestamp(),
            "comment": silence.comment,
        },
    )


def _filter_of(query: AlertQuery) -> AlertFilter:
    """Raises ValidationError for an invalid time."""
    fields = query.dict(exclude={"page", "page_size", "since", "until"})
    since, until = (read_field(name, time_from_epoch, getattr(query, name)) for name in ("since", "until"))
    return AlertFilter(**fields, since=since, until=until)


def _alert(alert: Alert) -> dict[str, Any]:
    by = alert.acknowledged_by
    return {
        "id": alert.pk,
        "rule": alert.rule.name,
        "severity": alert.severity,
        "state": alert.state,
        "project": alert.cluster.project.slug,
        "cluster": alert.cluster_id,
        "cluster_name": alert.cluster.name,
        "worker": alert.worker_id,
        "labels": alert.labels,
        "pending": alert.pending.timestamp(),
        "fired": seconds(alert.fired),
        "resolved": seconds(alert.resolved),
        "value": alert.value,
        "last_value": alert.last_value,
        "message": alert.message,
        "is_late": alert.is_late,
        "finding": alert.finding,
        "description": description_of(alert),
        "advice": advice_of(alert),
        "acknowledged": seconds(alert.acknowledged),
        "acknowledged_by": by.get_username() if by else None,
        "acknowledgement": alert.acknowledgement,
    }
