"""How durations and counts are written."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone

register = template.Library()

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@register.filter
def duration(seconds: float) -> str:
    """The two largest units of a duration: 90061 s is "1 d 1 h"."""
    rest = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in UNITS:
        amount, rest = divmod(rest, size)
        if amount or parts:
            parts.append(f"{amount} {unit}")
    return " ".join(part for part in parts[:2] if not part.startswith("0 ")) or "0 s"


@register.simple_tag
def time_between(start: datetime, stop: datetime) -> str:
    return duration((stop - start).total_seconds())


@register.filter
def ago(time: datetime) -> str:
    return f"{duration((timezone.now() - time).total_seconds())} ago"


@register.filter
def count(number: int) -> str:
    """A number in groups of three digits, set apart by narrow spaces."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
