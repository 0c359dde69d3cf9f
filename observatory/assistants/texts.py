"""Recorded texts for assistants: names, keys, messages and code of observed programs can be hostile."""

from __future__ import annotations

import unicodedata

REPLACED = "\N{REPLACEMENT CHARACTER}"
KEPT = "\n\t"
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode's categories of characters that nobody sees: control and format characters, those that turn the
direction of writing, the invisible copies of letters, and separators of lines"""


class Passage(str):
    """A text of several lines, such as code or a traceback, which may be longer than a name."""

    __slots__ = ()


def visible(text: str) -> str:
    """The text with a replacement character for each run of characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    for character in text:
        if character in KEPT or unicodedata.category(character) not in HIDDEN:
            shown.append(character)
        elif shown[-1:] != [REPLACED]:
            shown.append(REPLACED)
    return "".join(shown)


def shown(text: str, longest: int) -> str:
    """The visible form of a text's beginning, and how many characters follow."""
    if len(text) <= longest:
        return visible(text)
    return f"{visible(text[:longest])}… ({len(text) - longest} characters more)"
