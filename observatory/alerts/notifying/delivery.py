"""Delivers due notifications to channels.

One process at a time sends to a channel: it holds the channel's lock. A delivery that is SENDING when a
process gets the lock was left by a process that died, perhaps after sending. It is sent again as the same
message with the same id, so that a receiver can detect the duplicate.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import chain
from uuid import UUID, uuid4

from django.db.models import F, Q

from observatory.alerts.findings import FirstFindings
from observatory.alerts.models import Channel, Delivery
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.composing import message_of
from observatory.alerts.notifying.decisions import deliveries_to_send, with_alerts
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.message import Change
from observatory.alerts.notifying.sending import send
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import CHANNELS, try_lock

log = logging.getLogger(__name__)

State = Delivery.State
OPEN = (State.DUE, State.SENDING)
MAX_DELIVERIES = 1000
"""deliveries that one call handles; further ones wait for the next"""
FIRST_PAUSE = timedelta(seconds=5)
MAX_PAUSE = timedelta(minutes=10)
MAX_ATTEMPTS = 20
"""which takes about two hours with these pauses"""
HOUR = timedelta(hours=1)


def due_channels(at: datetime) -> list[int]:
    """The channels with due deliveries. Closes the deliveries of disabled channels."""
    waiting = Delivery.objects.filter(state__in=OPEN, due__lte=at)
    waiting.filter(channel__enabled=False).update(state=State.UNNEEDED)
    return list(waiting.order_by("channel").values_list("channel", flat=True).distinct())


def deliver_to(channel_id: int, at: datetime) -> None:
    """Sends everything due to a channel, up to the first failure. Does nothing if another process is
    sending."""
    with connect() as connection, try_lock(connection, channel_id, CHANNELS) as is_ours:
        channel = Channel.objects.filter(pk=channel_id, enabled=True).first()
        if not is_ours or channel is None:
            return
        findings = FirstFindings()
        for message_id in _messages_to_retry(channel, at):
            if not _attempt(channel, message_id, at, findings):
                return
        for deliveries in _new_messages(channel, at):
            if not _attempt(channel, _begin(deliveries), at, findings):
                return


def _messages_to_retry(channel: Channel, at: datetime) -> list[UUID]:
    again = Q(state=State.SENDING) | Q(state=State.DUE, due__lte=at)
    found = channel.deliveries.filter(again, message_id__isnull=False).order_by("due")
    return list(dict.fromkeys(delivery.message_id for delivery in found if delivery.message_id))


def _new_messages(channel: Channel, at: datetime) -> list[list[int]]:
    """The deliveries of each new message: one message per cluster.

    If that is more than the channel's remaining messages, the last message has all the rest. A cluster with
    an undelivered message waits for it, so that messages arrive in order.
    """
    remaining = remaining_messages(channel, at)
    if remaining <= 0:
        return []
    waiting = channel.deliveries.filter(state=State.DUE, message_id=None)
    # a postponed start is decided together with its end
    ended = waiting.filter(change=Change.RESOLVED, due__lte=at)
    waiting = waiting.filter(Q(due__lte=at) | Q(alert__in=ended.values("alert")))
    undelivered = channel.deliveries.filter(state__in=OPEN, message_id__isnull=False)
    waiting = waiting.exclude(alert__cluster__in=undelivered.values("alert__cluster"))
    by_cluster: dict[int, list[int]] = {}
    for delivery in deliveries_to_send(list(with_alerts(waiting)[:MAX_DELIVERIES]), at):
        by_cluster.setdefault(delivery.alert.cluster_id, []).append(delivery.pk)
    groups = list(by_cluster.values())
    rest = list(chain.from_iterable(groups[remaining - 1 :]))
    return [*groups[: remaining - 1], rest] if rest else groups


def remaining_messages(channel: Channel, at: datetime) -> int:
    """Messages that the channel's hourly limit still allows."""
    if channel_kinds()[channel.kind].limits_itself:
        return MAX_DELIVERIES
    recent = Q(state=State.SENT, sent__gt=at - HOUR) | Q(state__in=OPEN, message_id__isnull=False)
    messages = channel.deliveries.filter(recent).order_by().values("message_id").distinct().count()
    return channel.messages_an_hour - messages


def _begin(deliveries: Iterable[int]) -> UUID:
    """Assigns a new message to the deliveries."""
    message_id = uuid4()
    Delivery.objects.filter(pk__in=deliveries, state=State.DUE).update(message_id=message_id)
    return message_id


def _attempt(channel: Channel, message_id: UUID, at: datetime, findings: FirstFindings) -> bool:
    """True if the message was sent. The state SENDING is committed before, SENT afterwards."""
    ours = channel.deliveries.filter(message_id=message_id, state__in=OPEN)
    ours.update(state=State.SENDING, attempts=F("attempts") + 1)
    deliveries = list(with_alerts(ours))
    if not deliveries:  # their alerts were deleted
        return True
    findings.keep(delivery.alert for delivery in deliveries if delivery.change != Change.RESOLVED)
    try:
        send(channel, message_of(message_id, channel.name, deliveries), at)
    except SendError as error:
        attempts = max(delivery.attempts for delivery in deliveries)
        log.warning("sending to channel %d failed (attempt %d): %s", channel.pk, attempts, error)
        ours.update(
            state=State.FAILED if attempts >= MAX_ATTEMPTS else State.DUE,
            due=at + pause(attempts),
            last_error=str(error),
        )
        return False
    ours.update(state=State.SENT, sent=at, last_error="")
    return True


def pause(attempts: int) -> timedelta:
    """The pause after the `attempts`-th failure: twice the one before, with 20 % jitter."""
    usual = min(FIRST_PAUSE * int(2 ** (attempts - 1)), MAX_PAUSE)
    return usual * random.uniform(0.8, 1.2)
