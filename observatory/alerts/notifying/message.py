"""A notification: one message about the changes of one or several alerts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from observatory.alerts.labels import labels_of
from observatory.alerts.models import RANKS, Alert, Delivery
from observatory.alerts.web.links import alert_url

GROUP_LABELS = ("cluster", "cluster_id", "project")
PREFIXES = {
    Delivery.Change.FIRING: "",
    Delivery.Change.RESOLVED: "Resolved: ",
    Delivery.Change.REMINDER: "Still firing: ",
}


@dataclass(frozen=True, slots=True)
class Item:
    """An alert and the change that the message reports."""

    change: Delivery.Change
    labels: Mapping[str, str]
    severity: str
    summary: str
    description: str
    advice: str
    starts: datetime
    stops: datetime | None
    """when it was resolved; None: it fires. The alert may be over although the message reports another
    change"""
    is_late: bool
    url: str
    fingerprint: str

    @property
    def is_resolved(self) -> bool:
        """True if the message reports the end of the alert."""
        return self.change == Delivery.Change.RESOLVED


@dataclass(frozen=True, slots=True)
class Message:
    """The `id` stays the same when the message is sent again."""

    id: UUID
    channel: str
    items: Sequence[Item]

    @property
    def firing(self) -> list[Item]:
        return [item for item in self.items if not item.is_resolved]

    @property
    def resolved(self) -> list[Item]:
        return [item for item in self.items if item.is_resolved]

    @property
    def group(self) -> dict[str, str]:
        """The group labels; empty for a message about several clusters."""
        common = self.common([item.labels for item in self.items])
        return {name: common[name] for name in GROUP_LABELS} if "cluster_id" in common else {}

    @property
    def title(self) -> str:
        """One line."""
        cluster = self.group.get("cluster", "")
        where = f" · {cluster}" if cluster else ""
        if len(self.items) == 1:
            item = self.items[0]
            title = f"{PREFIXES[item.change]}{item.severity}: {item.summary}"
            return title if cluster in item.summary else title + where
        counts = ((len(self.firing), "firing"), (len(self.resolved), "resolved"))
        return f"Alerts: {', '.join(f'{count} {word}' for count, word in counts if count)}{where}"

    @staticmethod
    def common(texts: Sequence[Mapping[str, str]]) -> dict[str, str]:
        """The entries that all mappings have in common."""
        first, *others = texts
        return {
            name: text for name, text in first.items() if all(other.get(name) == text for other in others)
        }


def message_of(id: UUID, channel: str, deliveries: Iterable[Delivery]) -> Message:
    """Firing alerts come first, the most severe before others, and alerts of a rule together.

    If an alert's start and end are both due, only the end is reported: it includes the start time.
    """
    last: dict[int, Delivery] = {}
    for delivery in sorted(deliveries, key=lambda delivery: delivery.pk):
        last[delivery.alert_id] = delivery
    items = [_item(delivery.alert, Delivery.Change(delivery.change)) for delivery in last.values()]
    items.sort(key=_order)
    return Message(id, channel, items)


def _order(item: Item) -> tuple[bool, int, str, datetime]:
    return item.is_resolved, -RANKS[item.severity], item.labels["alertname"], item.starts


def _item(alert: Alert, change: Delivery.Change) -> Item:
    return Item(
        change=change,
        labels=labels_of(alert),
        severity=alert.severity,
        summary=str(alert),
        description=alert.rule.description,
        advice=alert.rule.advice,
        starts=alert.fired or alert.pending,
        stops=alert.resolved,
        is_late=alert.is_late,
        url=alert_url(alert),
        fingerprint=alert.fingerprint,
    )
