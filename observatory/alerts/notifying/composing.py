"""Composes the message about the alerts that are due in a channel."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from observatory.alerts.evaluation.messages import advice_of, description_of
from observatory.alerts.labels import labels_of
from observatory.alerts.models import RANKS, Alert, Delivery
from observatory.alerts.notifying.message import Change, Item, Message
from observatory.alerts.web.fired import fired_in_run_of
from observatory.alerts.web.links import alert_path, moment_path
from observatory.clusters.addresses.public_urls import url_in_message


def message_of(id: UUID, channel: str, deliveries: Iterable[Delivery]) -> Message:
    """Firing alerts come first, the most severe before others, and alerts of a rule together.

    If an alert's start and end are both due, only the end is reported: it includes the start time.
    """
    last: dict[int, Delivery] = {}
    for delivery in sorted(deliveries, key=lambda delivery: delivery.pk):
        last[delivery.alert_id] = delivery
    items = [_item(delivery.alert, Change(delivery.change)) for delivery in last.values()]
    items.sort(key=_order)
    return Message(id, channel, items)


def _order(item: Item) -> tuple[bool, int, str, datetime]:
    return item.is_resolved, -RANKS[item.severity], item.labels["alertname"], item.starts


def _item(alert: Alert, change: Change) -> Item:
    return Item(
        change=change,
        labels=labels_of(alert),
        severity=alert.severity,
        summary=str(alert),
        description=description_of(alert),
        advice=advice_of(alert),
        starts=alert.fired or alert.pending,
        stops=alert.resolved,
        is_late=alert.is_late,
        page_url=url_in_message(alert_path(alert)),
        moment_url=url_in_message(moment_path(alert)),
        fingerprint=alert.fingerprint,
        fired=fired_in_run_of(alert),
        finding=alert.finding,
    )
