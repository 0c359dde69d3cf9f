"""Template filters that write numbers, durations, sizes and times. Built in: no template loads them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from observatory.clusters import formatting

BACKTICKS = re.compile(r"`([^`]+)`")

register = template.Library()

register.filter("count", formatting.format_count)
register.filter("duration", formatting.format_duration)
register.filter("size", formatting.format_bytes)
register.filter("percent", formatting.format_percent)
register.filter("in_unit", formatting.format_value)


@register.filter
def money(cost: Mapping[str, Any]) -> str:
    """A cost with its `amount` and `currency`."""
    return formatting.format_money(cost["amount"], cost["currency"])


@register.filter
def percent_of(part: float, whole: float) -> str:
    """A share of `whole`; of nothing it is 0 %."""
    return formatting.format_percent(part / whole if whole else 0)


@register.simple_tag
def elapsed(start: datetime, stop: datetime, whole: bool = False) -> str:
    """The duration between two times; `whole`: its whole seconds, as a timeline shows one that goes on."""
    seconds = (stop - start).total_seconds()
    return formatting.format_duration(math.floor(seconds) if whole else seconds)


@register.filter
def with_code(text: str) -> SafeString:
    """The text as HTML; what stands between backticks is code."""
    parts = BACKTICKS.split(text)
    pieces = [
        format_html("<code>{}</code>", part) if number % 2 else part for number, part in enumerate(parts)
    ]
    return format_html_join("", "{}", ((piece,) for piece in pieces))


@register.filter
def ago(time: datetime) -> str:
    return formatting.format_age((timezone.now() - time).total_seconds())


@register.filter
def timestamp(time: datetime) -> str:
    """Date and time to the millisecond."""
    return f"{time:%Y-%m-%d} {clock(time)}"


@register.filter
def clock(time: datetime) -> str:
    """Time of day to the millisecond."""
    return f"{time:%H:%M:%S}.{time.microsecond // 1000:03}"


@register.filter
def input_time(time: datetime | None) -> str:
    """As the value of a datetime-local input."""
    return f"{time:%Y-%m-%dT}{clock(time)}" if time else ""


@register.filter
def epoch(time: datetime) -> str:
    """Seconds since the epoch, to the microsecond."""
    return f"{time.timestamp():.6f}"
