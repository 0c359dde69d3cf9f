"""Sends a message by a channel, whatever its kind."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.urls import reverse

from observatory.alerts.models import Channel, Delivery
from observatory.alerts.notifying.errors import SendError, scrub
from observatory.alerts.notifying.http_post import post
from observatory.alerts.notifying.message import Item, Message
from observatory.alerts.notifying.payloads import pushed_alerts, webhook_payload
from observatory.alerts.notifying.services import notify
from observatory.alerts.secrets import SecretLost, decrypt

MOST_PUSHED = 500
"""alerts in one request"""


def send(channel: Channel, message: Message, at: datetime) -> None:
    """Raises SendError, with a reason that holds no secret."""
    try:
        address = decrypt(channel.secret)
    except SecretLost as error:
        raise SendError(str(error)) from None
    try:
        _send(channel.kind, address, message, at)
    except SendError:
        raise
    except Exception as error:  # of a service's library: its text may hold the address
        raise SendError(scrub(f"{type(error).__name__}: {error}", address)) from None


def _send(kind: str, address: str, message: Message, at: datetime) -> None:
    headers = {"Idempotency-Key": str(message.id), "User-Agent": "dask-observatory"}
    if kind == Channel.Kind.WEBHOOK:
        post(address, webhook_payload(message), headers)
    elif kind == Channel.Kind.ALERTMANAGER:
        url = f"{address.rstrip('/')}/api/v2/alerts"
        for first in range(0, len(message.items), MOST_PUSHED):
            post(url, pushed_alerts(message.items[first : first + MOST_PUSHED], at), headers)
    else:
        notify(address, message)


def send_test(channel: Channel, at: datetime) -> None:
    """Tells of an alert that there isn't. Raises SendError."""
    item = Item(
        change=Delivery.Change.FIRING,
        labels={"alertname": "Test", "severity": "info", "cluster": "test", "project": "test"},
        severity="info",
        summary=f"A test of the channel “{channel.name}”: it works.",
        description="Somebody pressed “Send a test”. Nothing is wrong.",
        advice="",
        starts=at,
        stops=at + timedelta(minutes=1),
        is_late=False,
        url=f"{settings.PUBLIC_URL}{reverse('clusters')}",
        fingerprint="0" * 32,
    )
    send(channel, Message(uuid4(), channel.name, [item]), at)
