"""Amounts of what a deletion removes, by kind, in the words of people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db.models import Model

from observatory.clusters.formatting import format_bytes, format_count

NOUNS = {
    "alerts.alert": ("alert", "alerts"),
    "alerts.channel": ("channel", "channels"),
    "alerts.condition": ("condition of rules", "conditions of rules"),
    "alerts.delivery": ("notification", "notifications"),
    "alerts.maintenancewindow": ("maintenance window", "maintenance windows"),
    "alerts.rule": ("rule", "rules"),
    "alerts.silence": ("silence", "silences"),
    "auth.user": ("account", "accounts"),
    "axes.accessattempt": ("record of sign-ins", "records of sign-ins"),
    "axes.accessfailurelog": ("record of sign-ins", "records of sign-ins"),
    "axes.accesslog": ("record of sign-ins", "records of sign-ins"),
    "clusters.accesstoken": ("access token", "access tokens"),
    "clusters.cluster": ("cluster", "clusters"),
    "clusters.deletion": ("record of deletions", "records of deletions"),
    "clusters.discovery": ("discovery", "discoveries"),
    "clusters.grouprole": ("role of a group", "roles of groups"),
    "clusters.ingesttoken": ("ingest token", "ingest tokens"),
    "clusters.invitation": ("invitation", "invitations"),
    "clusters.membership": ("membership", "memberships"),
    "clusters.project": ("project", "projects"),
    "clusters.target": ("target", "targets"),
    "exchange.job": ("export or import", "exports and imports"),
    "exchange.receiver": ("receiver of runs", "receivers of runs"),
    "exchange.rundelivery": ("record of sent runs", "records of sent runs"),
    "runs.note": ("note", "notes"),
    "runs.permalink": ("link", "links"),
    "runs.run": ("run", "runs"),
    "runs.savedfilter": ("saved filter", "saved filters"),
    "sessions.session": ("session", "sessions"),
}
"""by the label of a model; rows of all others belong to these and are summed as OTHERS"""
OTHERS = ("row of usage, findings and the like", "rows of usage, findings and the like")


@dataclass(frozen=True, slots=True)
class Amount:
    noun: str
    """plural"""
    count: int
    bytes: int | None = None
    is_least: bool = False
    """counting took too long: there are at least so many"""
    singular: str = ""

    @property
    def words(self) -> str:
        """The noun after the number."""
        return self.singular if self.count == 1 and self.singular and not self.is_least else self.noun

    def __add__(self, other: Amount) -> Amount:
        sizes = [each.bytes for each in (self, other) if each.bytes is not None]
        return replace(
            self,
            count=self.count + other.count,
            bytes=sum(sizes) if sizes else None,
            is_least=self.is_least or other.is_least,
        )


def of_rows(model: type[Model], count: int) -> Amount:
    singular, noun = NOUNS.get(model._meta.label_lower, OTHERS)
    return Amount(noun, count, singular=singular)


def summed(amounts: Iterable[Amount]) -> list[Amount]:
    """Amounts of one noun added up, without those of nothing; what people know first, other rows last."""
    found: dict[str, Amount] = {}
    for amount in amounts:
        if amount.count or amount.bytes:
            known = found.get(amount.noun)
            found[amount.noun] = amount if known is None else known + amount
    return sorted(found.values(), key=lambda amount: (amount.noun == OTHERS[1], -amount.count, amount.noun))


def as_text(amount: Amount) -> str:
    """As in "at least 3 files (1.20 MiB)"."""
    size = f" ({format_bytes(amount.bytes)})" if amount.bytes else ""
    return f"{'at least ' if amount.is_least else ''}{format_count(amount.count)} {amount.words}{size}"


def to_json(amounts: Iterable[Amount]) -> list[dict[str, Any]]:
    return [asdict(amount) for amount in amounts]


def from_json(stored: Iterable[dict[str, Any]]) -> list[Amount]:
    return [Amount(**fields) for fields in stored]
