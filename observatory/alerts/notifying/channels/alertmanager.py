"""Prometheus' Alertmanager: alerts are pushed to its API, version 2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from observatory.alerts.notifying.addresses import check_http_address
from observatory.alerts.notifying.alertmanager_format import annotations_of, timestamp
from observatory.alerts.notifying.channel_kind import ChannelKind
from observatory.alerts.notifying.http_post import post
from observatory.alerts.notifying.message import Item, Message

PATH = "/api/v2/alerts"
BATCH_SIZE = 500
"""alerts in one request"""
VALID = timedelta(minutes=5)
"""time after which Alertmanager resolves a firing alert that wasn't sent again"""
LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Alertmanager(ChannelKind):
    name = "Alertmanager"
    label = "Alertmanager"
    examples = "https://alertmanager.example.org:9093"
    limits_itself = True
    needs_refresh = True

    def clean_address(self, text: str) -> str:
        check_http_address(text)
        return text.split("#")[0].rstrip("/").removesuffix(PATH)

    def host_of(self, address: str) -> str | None:
        return urlsplit(address).hostname

    def send(self, address: str, message: Message, at: datetime) -> None:
        url = address.rstrip("/") + PATH
        for first in range(0, len(message.items), BATCH_SIZE):
            post(url, payload(message.items[first : first + BATCH_SIZE], at), message.id)


CHANNEL = Alertmanager()


def payload(items: Sequence[Item], at: datetime) -> list[dict[str, Any]]:
    """The body of POST /api/v2/alerts."""
    return [
        {
            "labels": _valid(item.labels),
            "annotations": _valid(annotations_of(item)),
            "startsAt": timestamp(item.starts),
            "endsAt": timestamp(item.stops if item.is_resolved and item.stops else at + VALID),
            "generatorURL": item.moment_url or item.page_url,
        }
        for item in items
    ]


def _valid(texts: Mapping[str, str]) -> dict[str, str]:
    """Without the labels that Alertmanager rejects: invalid names and empty values."""
    return {name: text for name, text in texts.items() if text and LABEL.fullmatch(name)}
