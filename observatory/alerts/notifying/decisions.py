"""Decides about deliveries that are due: send them, let them wait, or skip them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

from django.db.models import QuerySet

from observatory.alerts.models import Alert, Delivery
from observatory.alerts.notifying.message import Change
from observatory.alerts.silences.suppression import Suppressions

RECHECK_AFTER = timedelta(seconds=10)
State = Delivery.State


class Decision(Enum):
    SEND = auto()
    WAIT = auto()
    SKIP = auto()


def deliveries_to_send(deliveries: Sequence[Delivery], at: datetime) -> list[Delivery]:
    """The deliveries of a channel to send now, in their order. Postpones or closes the others.

    - A firing alert that is suppressed waits. If it is resolved before the silence ends, nothing is sent.
    - The end of an alert is sent if its start was, even if it is suppressed: somebody may be working on it.
    - A reminder is sent if the alert still fires and is neither acknowledged nor suppressed.
    """
    suppressions = Suppressions(at)
    starts = _starts(deliveries)
    decisions: dict[int, Decision] = {}
    for delivery in deliveries:
        alert = delivery.alert
        if delivery.change == Change.RESOLVED:
            decision = _about_end(starts.get(alert.pk), decisions)
        elif not suppressions.reason(alert):
            is_current = delivery.change == Change.FIRING or (alert.is_firing and alert.acknowledged is None)
            decision = Decision.SEND if is_current else Decision.SKIP
        else:
            waits = delivery.change == Change.FIRING and alert.state != Alert.State.RESOLVED
            decision = Decision.WAIT if waits else Decision.SKIP
        decisions[delivery.pk] = decision
    _update(decisions, Decision.WAIT, due=at + RECHECK_AFTER)
    _update(decisions, Decision.SKIP, state=State.UNNEEDED)
    return [delivery for delivery in deliveries if decisions[delivery.pk] == Decision.SEND]


def with_alerts(deliveries: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """In order of creation, with everything that suppression and messages read of their alerts."""
    found = deliveries.order_by("pk")
    return found.select_related("alert__rule", "alert__cluster__project", "alert__cluster__target")


def _about_end(start: Delivery | None, decisions: dict[int, Decision]) -> Decision:
    """The decision about the alert's start, which comes before its end."""
    if start is None or start.state in (State.FAILED, State.UNNEEDED):
        return Decision.SKIP
    if start.state == State.SENT:
        return Decision.SEND
    return decisions.get(start.pk, Decision.WAIT)


def _starts(deliveries: Sequence[Delivery]) -> dict[int, Delivery]:
    """By alert, the delivery of its start, for the alerts whose end is among `deliveries`."""
    ends = [delivery for delivery in deliveries if delivery.change == Change.RESOLVED]
    channels = {delivery.channel_id for delivery in ends}
    alerts = {delivery.alert_id for delivery in ends}
    found = Delivery.objects.filter(channel__in=channels, alert__in=alerts, change=Change.FIRING)
    return {start.alert_id: start for start in found}


def _update(decisions: dict[int, Decision], decision: Decision, **fields: object) -> None:
    decided = [pk for pk, found in decisions.items() if found == decision]
    Delivery.objects.filter(pk__in=decided).update(**fields)
