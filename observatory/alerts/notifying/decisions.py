"""What becomes of a delivery whose time has come: it is told, it waits, or it isn't needed any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

from django.db.models import QuerySet

from observatory.alerts.models import Alert, Delivery
from observatory.alerts.silences.suppression import Suppressions

LOOKED_AT_AGAIN = timedelta(seconds=10)
"""later: what waits"""
Change = Delivery.Change
State = Delivery.State


class Decision(Enum):
    TOLD = auto()
    WAITS = auto()
    UNNEEDED = auto()


def settle(deliveries: Sequence[Delivery], at: datetime) -> list[Delivery]:
    """Those of a channel's due ones, in their order, that are to be told. Puts the others off, or ends them.

    - What fires and is silenced waits. If it is resolved before the silence ends, neither is told.
    - An end is told if the start was, silenced or not: somebody may be about it.
    - A reminder is of what still fires, neither acknowledged nor silenced.
    """
    quiet = Suppressions(at)
    starts = _starts(deliveries)
    fates: dict[int, Decision] = {}
    for delivery in deliveries:
        alert = delivery.alert
        if delivery.change == Change.RESOLVED:
            fate = _of_end(starts.get(alert.pk), fates)
        elif not quiet.reason(alert):
            is_wanted = delivery.change == Change.FIRING or (alert.is_firing and alert.acknowledged is None)
            fate = Decision.TOLD if is_wanted else Decision.UNNEEDED
        else:
            waits = delivery.change == Change.FIRING and alert.state != Alert.State.RESOLVED
            fate = Decision.WAITS if waits else Decision.UNNEEDED
        fates[delivery.pk] = fate
    _update(fates, Decision.WAITS, due=at + LOOKED_AT_AGAIN)
    _update(fates, Decision.UNNEEDED, state=State.UNNEEDED)
    return [delivery for delivery in deliveries if fates[delivery.pk] == Decision.TOLD]


def with_alerts(deliveries: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """In the order in which they were made, with all that silences and messages ask of their alerts."""
    found = deliveries.order_by("pk")
    return found.select_related("alert__rule", "alert__cluster__project", "alert__cluster__target")


def _of_end(start: Delivery | None, fates: dict[int, Decision]) -> Decision:
    """The same as its start's, which comes before it; or it waits for that."""
    if start is None or start.state in (State.FAILED, State.UNNEEDED):
        return Decision.UNNEEDED
    if start.state == State.SENT:
        return Decision.TOLD
    return fates.get(start.pk, Decision.WAITS)


def _starts(deliveries: Sequence[Delivery]) -> dict[int, Delivery]:
    """By the alert, what the channel was to be told of the start of those whose end is to be told."""
    ends = [delivery for delivery in deliveries if delivery.change == Change.RESOLVED]
    channels = {delivery.channel_id for delivery in ends}
    alerts = {delivery.alert_id for delivery in ends}
    found = Delivery.objects.filter(channel__in=channels, alert__in=alerts, change=Change.FIRING)
    return {start.alert_id: start for start in found}


def _update(fates: dict[int, Decision], fate: Decision, **fields: object) -> None:
    of_it = [pk for pk, found in fates.items() if found == fate]
    Delivery.objects.filter(pk__in=of_it).update(**fields)
