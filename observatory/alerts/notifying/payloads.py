"""Alertmanager's words: the payload of its webhooks (version 4), and what its API takes (v2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from observatory.alerts.notifying.message import Item, Message

LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NO_END = "0001-01-01T00:00:00Z"
"""as Alertmanager says of what fires"""
VALID = timedelta(minutes=5)
"""for so long Alertmanager takes it that what fires still does; it is told again each minute"""


def webhook_payload(message: Message) -> dict[str, Any]:
    """https://prometheus.io/docs/alerting/latest/configuration/#webhook_config"""
    alerts = [
        {
            "status": _status(item.is_resolved),
            "labels": dict(item.labels),
            "annotations": _annotations(item),
            "startsAt": _time(item.starts),
            "endsAt": _time(item.stops) if item.is_resolved and item.stops else NO_END,
            "generatorURL": item.url,
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
        "commonLabels": message.shared([item.labels for item in message.items]),
        "commonAnnotations": message.shared([_annotations(item) for item in message.items]),
        "externalURL": settings.PUBLIC_URL,
        "alerts": alerts,
    }


def pushed_alerts(items: Sequence[Item], at: datetime) -> list[dict[str, Any]]:
    """The body of POST /api/v2/alerts, without the labels that it would refuse: those without a text."""
    return [
        {
            "labels": _valid(item.labels),
            "annotations": _valid(_annotations(item)),
            "startsAt": _time(item.starts),
            "endsAt": _time(item.stops if item.is_resolved and item.stops else at + VALID),
            "generatorURL": item.url,
        }
        for item in items
    ]


def _annotations(item: Item) -> dict[str, str]:
    texts = {"summary": item.summary, "description": item.description, "advice": item.advice}
    return {name: text for name, text in texts.items() if text}


def _valid(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text and LABEL.fullmatch(name)}


def _status(is_resolved: bool) -> str:
    return "resolved" if is_resolved else "firing"


def _time(time: datetime) -> str:
    """RFC 3339."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
