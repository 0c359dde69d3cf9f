"""What a deletion would remove, counted without removing it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Model, Q

from observatory.clusters.deletion.amounts import Amount, of_rows, summed
from observatory.clusters.deletion.kind import Deletable, belongings_of, companions_of
from observatory.clusters.deletion.owned import owned, remaining

COUNTING = 3.0
"""seconds"""


@dataclass(frozen=True, slots=True)
class Preview:
    """Of one subject of a kind."""

    kind: Deletable
    subject: Model
    goes: list[Amount]
    stays: list[Amount]
    """what refers to it and stays without it"""
    notes: list[str]
    obstacle: str
    """why it cannot be deleted now; "" if it can"""

    @property
    def name(self) -> str:
        """What people type to confirm."""
        return str(self.subject)


def preview(kind: Deletable, subject: Model, seconds: float = COUNTING) -> Preview:
    """Records of the store are counted for at most `seconds`."""
    goes: list[Amount] = []
    for model, condition in rows_with(kind, subject):
        rows = model._base_manager.filter(condition)
        goes.append(of_rows(model, rows.count()))
        for belongings in belongings_of(model):
            goes += belongings.amounts(rows, seconds)
    stays = (of_rows(model, model._base_manager.filter(rows).count()) for model, rows in remaining(subject))
    return Preview(
        kind, subject, summed(goes), summed(stays), kind.notes(subject), kind.obstacle(subject).strip()
    )


def rows_with(kind: Deletable, subject: Model) -> list[tuple[type[Model], Q]]:
    """The rows that go with a subject, those that refer to others first."""
    *rows, own = owned(subject, {**companions_of(kind.name, subject), **kind.also(subject)})
    return [*sorted(rows, key=lambda each: each[0] in kind.last), own]
