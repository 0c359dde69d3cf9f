"""Whether something is provisioned, and the refusal to change it elsewhere than in its files."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import PermissionDenied
from django.db.models import Model

from observatory.clusters.provisioning.models import Provisioned


def mark_of(item: Model) -> Provisioned | None:
    """None: people change it."""
    return Provisioned.objects.filter(kind=item._meta.label_lower, number=item.pk).first()


def places_of(items: Iterable[Model]) -> dict[int, str]:
    """Where those of the items that are provisioned are changed, by their numbers. All are of one model."""
    listed = list(items)
    if not listed:
        return {}
    numbers = [item.pk for item in listed]
    marks = Provisioned.objects.filter(kind=listed[0]._meta.label_lower, number__in=numbers)
    return {mark.number: mark.place for mark in marks}


def refusal(mark: Provisioned) -> str:
    name = mark.kind.partition(".")[2]
    return f"This {name} is provisioned: change it in {mark.place}, and apply that."


def refuse_provisioned(item: Model) -> None:
    """Raises PermissionDenied: what people change here the next `apply` would undo."""
    if mark := mark_of(item):
        raise PermissionDenied(refusal(mark))
