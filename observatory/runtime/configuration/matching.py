"""Finds the rows of what files describe: by what identifies them, and by the marks of an earlier `apply`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import groupby
from typing import Any
from uuid import uuid4

from observatory.clusters.deletion.models import being_deleted
from observatory.clusters.models import Project
from observatory.clusters.provisioning.models import Provisioned
from observatory.runtime.configuration.kind import Item, Kind

Marks = Mapping[tuple[str, int], Provisioned]
"""by model and number, of all sources"""


def match(items: list[Item], marks: Marks, source: str) -> list[tuple[Item, str]]:
    """Sets the rows of the items; returns the items that can't have theirs, with the reason.

    Items are in the order of kinds: those of projects are looked for in the rows of these.
    """
    refused = []
    for kind, of_kind in groupby(items, key=lambda item: item.kind):
        chosen = list(of_kind)
        refused += _match_kind(kind, chosen, marks, source)
        refused += [(item, reason) for item in chosen if (reason := _against(item, marks, source))]
    return refused + _of_observatory(items) + _leaving(items)


def free_names(kind: Kind, items: list[Item]) -> None:
    """Rows whose names others get have names of their own until they are saved: so two can swap theirs."""
    wanted = {name for item in items if (name := kind.unique_name(item)) is not None}
    for item in items:
        if item.existing is None:
            continue
        held = kind.unique_name_of(item.existing)
        if held in wanted and held != kind.unique_name(item):
            item.existing.name = f"renamed by apply {uuid4().hex}"
            item.existing.save(update_fields=["name"])


def _match_kind(kind: Kind, items: list[Item], marks: Marks, source: str) -> list[tuple[Item, str]]:
    label = kind.model._meta.label_lower
    own = {mark.key: mark.number for (of, _), mark in marks.items() if of == label and mark.source == source}
    rows = {row.pk: row for row in kind.candidates()}
    identified: dict[Hashable, list[Any]] = defaultdict(list)
    for row in rows.values():
        for identity in kind.identities_of(row):
            identified[identity].append(row)
    taken: set[int] = set()
    refused = []

    def take(item: Item, row: Any) -> None:
        if item.existing is None and row is not None and row.pk not in taken:
            item.existing = row
            taken.add(row.pk)

    for item in items:
        for row in identified.get(kind.surest(item), [])[:1]:
            take(item, row)
    for item in items:
        take(item, rows.get(own.get(item.key, 0)))
    for item in items:
        found = identified.get(kind.identity(item), [])
        if item.existing is None and len(found) > 1:
            reason = f"There are {len(found)} of this name, made by hand. Rename or delete all but one."
            refused.append((item, reason))
        elif found:
            take(item, found[0])
    return refused


def _against(item: Item, marks: Marks, source: str) -> str:
    """What stands against an item's row."""
    if item.existing is None:
        return ""
    mark = marks.get((item.kind.model._meta.label_lower, item.existing.pk))
    if mark is None or mark.source == source:
        return ""
    return f"It is provisioned from {mark.file} of the source {mark.source}. Remove it there first."


def _of_observatory(items: list[Item]) -> list[tuple[Item, str]]:
    slugs = set(Project.objects.filter(is_own=True).values_list("slug", flat=True))
    reason = "This is the project of Observatory itself. Choose another slug."
    return [(item, reason) for item in items if item.kind.model is Project and item.key in slugs]


def _leaving(items: list[Item]) -> list[tuple[Item, str]]:
    leaving = set(being_deleted("project").values_list("subject", flat=True))
    reason = "This project is being deleted. Try again when it is gone."
    return [
        (item, reason) for item in items if isinstance(item.existing, Project) and item.existing.pk in leaving
    ]
