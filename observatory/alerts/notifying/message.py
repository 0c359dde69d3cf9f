"""What a channel is told at once: of one alert or of many, that they fire or that they don't any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from observatory.alerts.labels import labels_of
from observatory.alerts.models import RANKS, Alert, Delivery
from observatory.alerts.web.links import alert_url

GROUPED_BY = ("cluster", "cluster_id", "project")
WORDS = {
    Delivery.Change.FIRING: "",
    Delivery.Change.RESOLVED: "Resolved: ",
    Delivery.Change.REMINDER: "Still firing: ",
}


@dataclass(frozen=True, slots=True)
class Item:
    """An alert, and the change of it that is told."""

    change: Delivery.Change
    labels: Mapping[str, str]
    severity: str
    summary: str
    description: str
    advice: str
    starts: datetime
    stops: datetime | None
    """when it was resolved; None: it fires. It can be over though its end isn't what is told"""
    is_late: bool
    url: str
    fingerprint: str

    @property
    def is_resolved(self) -> bool:
        """Whether its end is told."""
        return self.change == Delivery.Change.RESOLVED


@dataclass(frozen=True, slots=True)
class Message:
    """`id` stays the same when it is sent again."""

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
        """The labels that it is grouped by; none where it tells of several clusters."""
        shared = self.shared([item.labels for item in self.items])
        return {name: shared[name] for name in GROUPED_BY} if "cluster_id" in shared else {}

    @property
    def title(self) -> str:
        """One line."""
        cluster = self.group.get("cluster", "")
        where = f" · {cluster}" if cluster else ""
        if len(self.items) == 1:
            item = self.items[0]
            told = f"{WORDS[item.change]}{item.severity}: {item.summary}"
            return told if cluster in item.summary else told + where
        counts = ((len(self.firing), "firing"), (len(self.resolved), "resolved"))
        return f"Alerts: {', '.join(f'{count} {word}' for count, word in counts if count)}{where}"

    @staticmethod
    def shared(texts: Sequence[Mapping[str, str]]) -> dict[str, str]:
        """What all of them have alike."""
        first, *others = texts
        return {
            name: text for name, text in first.items() if all(other.get(name) == text for other in others)
        }


def message_of(id: UUID, channel: str, deliveries: Iterable[Delivery]) -> Message:
    """What fires comes before what is resolved, what is severe before the rest, and a rule's together.

    Of an alert whose start and end are both told it is the end that is told: it says when it began, too.
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
