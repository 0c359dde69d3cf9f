"""Sends a message to a channel of any kind."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from django.urls import reverse

from observatory.alerts.models import Channel
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.errors import SendError, scrub
from observatory.alerts.notifying.message import Change, Item, Message
from observatory.alerts.secrets import SecretLost, decrypt
from observatory.clusters.addresses.public_urls import url_in_message


def send(channel: Channel, message: Message, at: datetime) -> None:
    """Raises SendError, whose text has no secrets."""
    try:
        address = decrypt(channel.secret)
    except SecretLost as error:
        raise SendError(str(error)) from None
    try:
        channel_kinds()[channel.kind].send(address, message, at)
    except SendError:
        raise
    except Exception as error:  # raised by a service's library; the text may contain the address
        raise SendError(scrub(f"{type(error).__name__}: {error}", address)) from None


def send_test(channel: Channel, at: datetime) -> None:
    """Sends a test alert. Raises SendError."""
    item = Item(
        change=Change.FIRING,
        labels={"alertname": "Test", "severity": "info", "cluster": "test", "project": "test"},
        severity="info",
        summary=f"Test of the channel “{channel.name}”: it works.",
        description="Somebody pressed “Send a test”. Nothing is wrong.",
        advice="",
        starts=at,
        stops=at + timedelta(minutes=1),
        is_late=False,
        page_url=url_in_message(reverse("alerts")),
        moment_url="",
        fingerprint="0" * 32,
    )
    send(channel, Message(uuid4(), channel.name, [item]), at)
