"""What files of configuration say, with the place of each part: file, line and path of the field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

import yaml

NULL = "tag:yaml.org,2002:null"
LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Place:
    file: str
    line: int
    """from 1 on"""
    path: str = ""
    """projects[0].targets[2].url"""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.path}" if self.path else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Scalar:
    place: Place
    text: str | None
    """as it is written; None: null"""


@dataclass(frozen=True, slots=True)
class Sequence:
    place: Place
    items: list[Node]


@dataclass(frozen=True, slots=True)
class Mapping:
    place: Place
    entries: dict[str, Node]


Node = Scalar | Sequence | Mapping


@dataclass(slots=True)
class Problems:
    """What is wrong, in the order in which it was found."""

    found: list[tuple[Place, str]] = field(default_factory=list)

    def add(self, place: Place, message: str) -> None:
        self.found.append((place, message))

    def lines(self) -> list[str]:
        ordered = sorted(self.found, key=lambda each: (each[0].file, each[0].line))
        return [f"{printable(str(place))}: {printable(message)}" for place, message in ordered]


def node_of(written: yaml.Node, file: str, path: str, problems: Problems) -> Node:
    """Scalars stay texts, so that `no` or `1:30` are what people wrote, whatever YAML makes of them."""
    place = Place(file, written.start_mark.line + 1, path)
    if isinstance(written, yaml.SequenceNode):
        items = [
            node_of(item, file, f"{path}[{number}]", problems) for number, item in enumerate(written.value)
        ]
        return Sequence(place, items)
    if not isinstance(written, yaml.MappingNode):
        return Scalar(place, None if written.tag == NULL else str(written.value))
    entries: dict[str, Node] = {}
    for key, value in written.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            problems.add(Place(file, line, path), "A key has to be a text.")
            continue
        name = str(key.value)
        inner = f"{path}.{name[:LONGEST_SHOWN]}" if path else name[:LONGEST_SHOWN]
        if name in entries:
            problems.add(Place(file, line, inner), "The key is there twice. Remove one of them.")
        entries[name] = node_of(value, file, inner, problems)
    return Mapping(place, entries)


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names what may have been meant."""
    names = list(known)
    close = get_close_matches(name, names, 1, 0.6)
    if close:
        return f"Did you mean “{close[0]}”?"
    return f"There are: {', '.join(names[:40])}." if names else "There is none."


def shown(text: object) -> str:
    """Shortened, for messages."""
    written = str(text)
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}…"


def printable(text: str) -> str:
    """Without what a terminal would obey: names can come from anybody."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
