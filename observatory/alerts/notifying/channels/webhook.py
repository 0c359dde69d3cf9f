"""Webhooks: an HTTP server that accepts Alertmanager's webhook payload, version 4."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from observatory.alerts.notifying.addresses import check_http_address
from observatory.alerts.notifying.alertmanager_format import annotations_of, timestamp
from observatory.alerts.notifying.channel_kind import ChannelKind
from observatory.alerts.notifying.http_post import post
from observatory.alerts.notifying.message import Message

NO_END = "0001-01-01T00:00:00Z"
"""`endsAt` of firing alerts, as Alertmanager writes it"""


class Webhook(ChannelKind):
    name = "Webhook"
    label = "Webhook (Alertmanager's payload)"
    examples = "https://example.org/alerts"

    def clean_address(self, text: str) -> str:
        check_http_address(text)
        return text

    def host_of(self, address: str) -> str | None:
        return urlsplit(address).hostname

    def send(self, address: str, message: Message, at: datetime) -> None:
        post(address, payload(message), message.id)


CHANNEL = Webhook()


def payload(message: Message) -> dict[str, Any]:
    """https://prometheus.io/docs/alerting/latest/configuration/#webhook_config"""
    alerts = [
        {
            "status": _status(item.is_resolved),
            "labels": dict(item.labels),
            "annotations": annotations_of(item),
            "startsAt": timestamp(item.starts),
            "endsAt": timestamp(item.stops) if item.is_resolved and item.stops else NO_END,
            "generatorURL": item.moment_url or item.page_url,
            "fingerprint": item.fingerprint,
        }
        for item in message.items
    ]
    group = message.group
    return {
        "version": "4",
        "groupKey": "{}:{" + ", ".join(f'{name}="{value}"' for name, value in group.items()) + "}",
        "truncatedAlerts": 0,
        "status": _status(not message.firing),
        "receiver": message.channel,
        "groupLabels": group,
        "commonLabels": message.common([item.labels for item in message.items]),
        "commonAnnotations": message.common([annotations_of(item) for item in message.items]),
        "externalURL": settings.PUBLIC_URL,
        "alerts": alerts,
    }


def _status(is_resolved: bool) -> str:
    return "resolved" if is_resolved else "firing"
