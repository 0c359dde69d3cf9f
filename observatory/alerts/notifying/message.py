"""A notification: one message about the changes of one or several alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import TextChoices

GROUP_LABELS = ("cluster", "cluster_id", "project")


class Change(TextChoices):
    """What of an alert is notified."""

    FIRING = "firing", "firing"
    RESOLVED = "resolved", "resolved"
    REMINDER = "reminder", "still firing"


PREFIXES = {
    Change.FIRING: "",
    Change.RESOLVED: "Resolved: ",
    Change.REMINDER: "Still firing: ",
}


@dataclass(frozen=True, slots=True)
class Item:
    """An alert and the change that the message reports."""

    change: Change
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
    page_url: str
    """of the alert's page; "" without settings.PUBLIC_URL"""
    moment_url: str
    """of the timeline when it fired; also "" if it is about no cluster"""
    fingerprint: str
    fired: Sequence[str] = ()
    """other rules that fired in the run that the alert is about"""
    finding: str = ""
    """the sentence of the first finding around the alert"""

    @property
    def is_resolved(self) -> bool:
        """True if the message reports the end of the alert."""
        return self.change == Change.RESOLVED


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
