"""Tags of runs: values by name, written as lines of `name = value`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from observatory.runs.models import LONGEST_TAG, MOST_TAGS


def parse_tag(text: str) -> tuple[str, str]:
    """Name and value of `git = 3f2a1c`; a name alone has an empty value. Raises ValidationError."""
    name, _, value = (part.strip() for part in text.partition("="))
    if not name:
        raise ValidationError(f"“{_short(text)}” needs a name before the “=”.")
    if "=" in name or not (name + value).isprintable():
        raise ValidationError(f"“{_short(text)}” contains unprintable characters.")
    for part in (name, value):
        if len(part) > LONGEST_TAG:
            raise ValidationError(f"“{_short(part)}” is longer than {LONGEST_TAG} characters, the maximum.")
    return name, value


def parse_tags(text: str) -> dict[str, str]:
    """Parses lines of tags; skips empty lines. Raises ValidationError."""
    pairs = [parse_tag(line) for line in text.splitlines() if line.strip()]
    tags = dict(pairs)
    if len(tags) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValidationError(f"The tag “{_short(twice)}” appears twice.")
    return bounded(tags)


def clean_tags(tags: Mapping[Any, Any]) -> dict[str, str]:
    """Validates tags that a program sent. Raises ValidationError."""
    for name, value in tags.items():
        if not isinstance(name, str) or not isinstance(value, str) or "=" in name:
            raise ValidationError(
                f"The tag “{_short(str(name))}” needs a name without “=” and a text as its value."
            )
    return bounded(dict(parse_tag(f"{name}={value}") for name, value in tags.items()))


def bounded(tags: dict[str, str]) -> dict[str, str]:
    """Returns `tags`. Raises ValidationError if there are too many."""
    if len(tags) > MOST_TAGS:
        raise ValidationError(f"A run can have at most {MOST_TAGS} tags, not {len(tags)}.")
    return tags


def format_tags(tags: Mapping[str, str]) -> str:
    """As lines of `name = value`."""
    return "\n".join(f"{name} = {value}" if value else name for name, value in tags.items())


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
