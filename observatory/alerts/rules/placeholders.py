"""The placeholders of a rule's texts: `{worker}`, `{value}`, `{value:humanize}`, `{labels.state}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from observatory.alerts.rules.number_formats import is_format

NAMES = ("cluster", "worker", "value", "threshold", "labels", "text")
LABEL, VALUE_FORMAT = "labels.", "value:"
"""beginnings of placeholders for one label, and for the value in a format"""
BRACES = re.compile(r"\{([^{}]*)\}")
LABEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def unknown_placeholders(text: str) -> Iterator[str]:
    """What is in braces but isn't a placeholder, without the braces."""
    return (name for name in dict.fromkeys(BRACES.findall(text)) if not is_placeholder(name))


def is_placeholder(name: str) -> bool:
    """`name` is without braces."""
    if name.startswith(VALUE_FORMAT):
        return is_format(name.removeprefix(VALUE_FORMAT))
    if name.startswith(LABEL):
        return LABEL_NAME.fullmatch(name.removeprefix(LABEL)) is not None
    return name in NAMES


def split(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text, and whether each is the name of a placeholder."""
    # at odd places there is what was in braces
    for place, piece in enumerate(BRACES.split(text)):
        is_name = place % 2 == 1 and is_placeholder(piece)
        yield (piece if is_name or place % 2 == 0 else f"{{{piece}}}"), is_name


def fill(text: str, value_of: Callable[[str], str | None]) -> str:
    """Replaces each placeholder by its value, in one pass: braces in values stay.

    None leaves a placeholder as it is.
    """

    def filled(name: str) -> str:
        value = value_of(name)
        return f"{{{name}}}" if value is None else value

    return "".join(filled(piece) if is_name else piece for piece, is_name in split(text))
