"""Template filter for the amounts of usage."""

from __future__ import annotations

from django import template

from observatory.clusters.formatting import format_count
from observatory.runs.usage.prices import GIB, HOUR

register = template.Library()


@register.filter
def gib_hours(memory_seconds: float) -> str:
    """Bytes times seconds: "12.4 GiB h"."""
    hours = memory_seconds / GIB / HOUR
    return "< 0.1 GiB h" if 0 < hours < 0.05 else f"{format_count(hours)} GiB h"
