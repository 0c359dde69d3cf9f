"""Repeats notifications of alerts that keep firing: reminders, and refreshes for Alertmanagers."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from observatory.alerts.models import Alert, Channel, Delivery
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.composing import message_of
from observatory.alerts.notifying.decisions import with_alerts
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.message import Change
from observatory.alerts.notifying.sending import send
from observatory.alerts.silences.suppression import Suppressions
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import CHANNELS, try_lock

log = logging.getLogger(__name__)

State = Delivery.State


def remind(at: datetime) -> None:
    """Creates the reminders that are due."""
    suppressions = Suppressions(at)
    for channel in Channel.objects.filter(enabled=True, repeat_hours__gt=0):
        with transaction.atomic():
            # a second process would create the same reminders
            Channel.objects.select_for_update().get(pk=channel.pk)
            found = firing_deliveries(channel).filter(alert__acknowledged=None)
            recent = _notified_since(at - timedelta(hours=channel.repeat_hours))
            reminders = [
                Delivery(channel=channel, alert=delivery.alert, change=Change.REMINDER, due=at)
                for delivery in found.exclude(Exists(recent))
                if not suppressions.reason(delivery.alert)
            ]
            Delivery.objects.bulk_create(reminders)


def refresh(channel_id: int, at: datetime) -> None:
    """Sends all firing alerts again to a channel whose receiver would forget them."""
    with connect() as connection, try_lock(connection, channel_id, CHANNELS) as is_ours:
        channel = Channel.objects.filter(pk=channel_id, enabled=True).first()
        if not is_ours or channel is None:
            return  # another process is sending; the next refresh is in a minute
        message = message_of(uuid4(), channel.name, firing_deliveries(channel))
        try:
            send(channel, message, at)
        except SendError as error:
            log.warning("refreshing the alerts of channel %d failed: %s", channel_id, error)


def channels_to_refresh() -> list[int]:
    enabled = Channel.objects.filter(enabled=True).values_list("pk", "kind")
    # without channels, the kinds and their libraries stay unloaded
    return [pk for pk, kind in enabled if kind in channel_kinds() and channel_kinds()[kind].needs_refresh]


def firing_deliveries(channel: Channel) -> QuerySet[Delivery]:
    """The sent notifications of alerts that still fire."""
    firing = Q(state=State.SENT, alert__state=Alert.State.FIRING)
    return with_alerts(channel.deliveries.filter(firing, change=Change.FIRING))


def _notified_since(since: datetime) -> QuerySet[Delivery]:
    """Notifications of the same alert to the same channel since then: sent, waiting or failed."""
    same = Delivery.objects.filter(channel=OuterRef("channel"), alert=OuterRef("alert"))
    recent = Q(sent__gt=since) | Q(sent=None, created__gt=since) | Q(state__in=(State.DUE, State.SENDING))
    return same.filter(recent, change__in=(Change.FIRING, Change.REMINDER))
