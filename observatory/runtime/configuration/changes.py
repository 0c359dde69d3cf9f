"""What an `apply` changes, item by item and field by field, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from observatory.runtime.configuration.nodes import printable, shown


class Act(Enum):
    ADD = "+"
    CHANGE = "~"
    REMOVE = "-"
    RELEASE = "="
    """it leaves the files and stays: people made it, or it has records"""


@dataclass(frozen=True, slots=True)
class FieldChange:
    path: str
    before: str
    """"" where there was nothing"""
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    act: Act
    title: str
    place: str
    """file and line; "" for what is in no file"""
    fields: tuple[FieldChange, ...] = ()
    note: str = ""

    def lines(self) -> Iterator[str]:
        place = f"  ({self.place})" if self.place else ""
        yield printable(f"{self.act.value} {self.title}{place}")
        if self.note:
            yield printable(f"    {self.note}")
        for each in self.fields:
            if self.act is Act.CHANGE:
                yield printable(f"    {each.path}: {each.before or 'nothing'} → {each.after or 'nothing'}")
            else:
                yield printable(f"    {each.path}: {each.after}")


@dataclass(slots=True)
class Plan:
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unchanged: int = 0

    def count(self, act: Act) -> int:
        return sum(change.act is act for change in self.changes)

    def lines(self) -> Iterator[str]:
        for change in self.changes:
            yield from change.lines()
        for note in self.notes:
            yield printable(note)
        yield self.summary()

    def summary(self) -> str:
        if not self.changes:
            return f"No changes: all {self.unchanged} are as the files say."
        counts = (
            f"{self.count(Act.ADD)} to add",
            f"{self.count(Act.CHANGE)} to change",
            f"{self.count(Act.REMOVE)} to remove",
            f"{self.count(Act.RELEASE)} to let go of",
            f"{self.unchanged} unchanged",
        )
        return f"{', '.join(counts)}."


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """By the paths of single values: conditions[0].threshold."""
    old, new = dict(_flat(before)), dict(_flat(after))
    return tuple(
        FieldChange(path, _text(old.get(path)), _text(new.get(path)))
        for path in [*new, *(path for path in old if path not in new)]
        if old.get(path) != new.get(path)
    )


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for number, each in enumerate(value):
            yield from _flat(each, f"{path}[{number}]")
    elif value not in (None, "", []):
        yield path, value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return shown(", ".join(map(str, value)) if isinstance(value, list) else value)
