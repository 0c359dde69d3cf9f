"""What is told again of alerts that fire for long: reminders to people, all of them to Alertmanagers."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from observatory.alerts.models import Alert, Channel, Delivery
from observatory.alerts.notifying.decisions import with_alerts
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.message import message_of
from observatory.alerts.notifying.sending import send
from observatory.alerts.silences.suppression import Suppressions
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import CHANNELS, working

log = logging.getLogger(__name__)

Change = Delivery.Change
State = Delivery.State
TELLS_THAT_IT_FIRES = (Change.FIRING, Change.REMINDER)


def remind(at: datetime) -> None:
    """Makes the reminders that are due, by channels that want them."""
    quiet = Suppressions(at)
    for channel in Channel.objects.filter(enabled=True, repeat_hours__gt=0):
        with transaction.atomic():
            # two at once would remind twice
            Channel.objects.select_for_update().get(pk=channel.pk)
            fresh = told(channel).filter(alert__acknowledged=None)
            fresh = fresh.exclude(Exists(_lately_told(at - timedelta(hours=channel.repeat_hours))))
            reminders = [
                Delivery(channel=channel, alert=delivery.alert, change=Change.REMINDER, due=at)
                for delivery in fresh
                if not quiet.reason(delivery.alert)
            ]
            Delivery.objects.bulk_create(reminders)


def push_again(channel_id: int, at: datetime) -> None:
    """Tells an Alertmanager all that fires: it forgets what it isn't told again."""
    with connect() as connection, working(connection, channel_id, CHANNELS) as is_ours:
        channel = Channel.objects.filter(pk=channel_id, enabled=True).first()
        if not is_ours or channel is None:
            return  # who sends by it tells it something anyhow; the next time is in a minute
        message = message_of(uuid4(), channel.name, told(channel))
        try:
            send(channel, message, at)
        except SendError as error:
            log.warning("channel %d couldn't be told again what fires: %s", channel_id, error)


def alertmanagers() -> list[int]:
    """The channels to Alertmanagers."""
    found = Channel.objects.filter(enabled=True, kind=Channel.Kind.ALERTMANAGER)
    return list(found.values_list("pk", flat=True))


def told(channel: Channel) -> QuerySet[Delivery]:
    """What the channel was told of, and fires still."""
    fires = Q(state=State.SENT, alert__state=Alert.State.FIRING)
    return with_alerts(channel.deliveries.filter(fires, change=Change.FIRING))


def _lately_told(since: datetime) -> QuerySet[Delivery]:
    """What the same channel was told of the same alert since then, or was to be told: also what failed."""
    same = Delivery.objects.filter(channel=OuterRef("channel"), alert=OuterRef("alert"))
    lately = Q(sent__gt=since) | Q(sent=None, created__gt=since) | Q(state__in=(State.DUE, State.SENDING))
    return same.filter(lately, change__in=TELLS_THAT_IT_FIRES)
