"""Tells the channels what they are to be told.

One process at a time sends by a channel, as long as it holds the channel's lock. What is SENDING when
somebody gets the lock was left by one that died: nobody knows whether it arrived. It is sent again as the
same message, with the same id, by which a receiver can tell it from another.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import chain
from uuid import UUID, uuid4

from django.db.models import F, Q

from observatory.alerts.models import Channel, Delivery
from observatory.alerts.notifying.decisions import settle, with_alerts
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.message import message_of
from observatory.alerts.notifying.sending import send
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import CHANNELS, working

log = logging.getLogger(__name__)

State = Delivery.State
OPEN = (State.DUE, State.SENDING)
MOST_TOLD = 1000
"""deliveries looked at, and alerts told, at once; the others wait for the next message"""
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=10)
MOST_ATTEMPTS = 20
"""with these pauses a message is given up after some two hours"""
HOUR = timedelta(hours=1)


def due_channels(at: datetime) -> list[int]:
    """Those that something is to be told to. What waits for a channel that was switched off isn't needed."""
    waiting = Delivery.objects.filter(state__in=OPEN, due__lte=at)
    waiting.filter(channel__enabled=False).update(state=State.UNNEEDED)
    return list(waiting.order_by("channel").values_list("channel", flat=True).distinct())


def deliver_to(channel_id: int, at: datetime) -> None:
    """Tells a channel all that is due, unless somebody else is about it. After a failure it is left alone."""
    with connect() as connection, working(connection, channel_id, CHANNELS) as is_ours:
        channel = Channel.objects.filter(pk=channel_id, enabled=True).first()
        if not is_ours or channel is None:
            return
        for message_id in _attempted(channel, at):
            if not _attempt(channel, message_id, at):
                return
        for deliveries in _groups(channel, at):
            if not _attempt(channel, _begin(deliveries), at):
                return


def _attempted(channel: Channel, at: datetime) -> list[UUID]:
    """The messages that are to be sent again, as they were."""
    again = Q(state=State.SENDING) | Q(state=State.DUE, due__lte=at)
    found = channel.deliveries.filter(again, message_id__isnull=False).order_by("due")
    return list(dict.fromkeys(delivery.message_id for delivery in found if delivery.message_id))


def _groups(channel: Channel, at: datetime) -> list[list[int]]:
    """The deliveries of each new message: a cluster's are told together.

    Where the channel may have fewer messages, the last has all the rest. A cluster whose last message is yet
    to arrive waits for that one, so that nothing overtakes it.
    """
    room = _room(channel, at)
    if room <= 0:
        return []
    waiting = channel.deliveries.filter(state=State.DUE, message_id=None)
    # a start that was put off comes with its end, for both have one fate
    ended = waiting.filter(change=Delivery.Change.RESOLVED, due__lte=at)
    waiting = waiting.filter(Q(due__lte=at) | Q(alert__in=ended.values("alert")))
    held = channel.deliveries.filter(state__in=OPEN, message_id__isnull=False)
    waiting = waiting.exclude(alert__cluster__in=held.values("alert__cluster"))
    groups: dict[int, list[int]] = {}
    for delivery in settle(list(with_alerts(waiting)[:MOST_TOLD]), at):
        groups.setdefault(delivery.alert.cluster_id, []).append(delivery.pk)
    apart = list(groups.values())
    rest = list(chain.from_iterable(apart[room - 1 :]))
    return [*apart[: room - 1], rest] if rest else apart


def _room(channel: Channel, at: datetime) -> int:
    """How many messages more the channel may have by now. An Alertmanager limits what it tells by itself."""
    if channel.kind == Channel.Kind.ALERTMANAGER:
        return MOST_TOLD
    lately = Q(state=State.SENT, sent__gt=at - HOUR) | Q(state__in=OPEN, message_id__isnull=False)
    messages = channel.deliveries.filter(lately).order_by().values("message_id").distinct().count()
    return channel.messages_an_hour - messages


def _begin(deliveries: Iterable[int]) -> UUID:
    """Makes a message of them."""
    message_id = uuid4()
    Delivery.objects.filter(pk__in=deliveries, state=State.DUE).update(message_id=message_id)
    return message_id


def _attempt(channel: Channel, message_id: UUID, at: datetime) -> bool:
    """Whether it was sent. That it is being sent is committed before, that it was sent after it."""
    ours = channel.deliveries.filter(message_id=message_id, state__in=OPEN)
    ours.update(state=State.SENDING, attempts=F("attempts") + 1)
    deliveries = list(with_alerts(ours))
    if not deliveries:  # its alerts were deleted
        return True
    try:
        send(channel, message_of(message_id, channel.name, deliveries), at)
    except SendError as error:
        attempts = max(delivery.attempts for delivery in deliveries)
        is_over = attempts >= MOST_ATTEMPTS
        log.warning("channel %d couldn't be told (%d. attempt): %s", channel.pk, attempts, error)
        ours.update(
            state=State.FAILED if is_over else State.DUE, due=at + pause(attempts), last_error=str(error)
        )
        return False
    ours.update(state=State.SENT, sent=at, last_error="")
    return True


def pause(attempts: int) -> timedelta:
    """After the `attempts`-th failure: twice the one before, a fifth more or less."""
    usual = min(FIRST_PAUSE * int(2 ** (attempts - 1)), LONGEST_PAUSE)
    return usual * random.uniform(0.8, 1.2)
