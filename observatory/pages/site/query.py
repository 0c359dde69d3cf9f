"""Values in the query strings of pages: texts, times, and the position from which a list continues."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from django.http import HttpRequest

from observatory.runs.window import EARLIEST, LATEST
from observatory.store.times import EPOCH, from_microseconds, to_microseconds

LONGEST_TEXT = 500
POSITION = re.compile(r"(\d{1,16})_(.{1,40})")


def query_text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").strip()[:LONGEST_TEXT]


def parse_time(text: str) -> datetime | None:
    """A time as seconds since the epoch, or as a datetime-local input writes it, in UTC; None for others."""
    try:
        time = EPOCH + timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            return None
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time if EARLIEST < time < LATEST else None


def format_position(time: datetime, place: object) -> str:
    """The position of a row in a list by time; `place` orders rows of the same time."""
    return f"{to_microseconds(time)}_{place}"


def parse_position(text: str) -> tuple[datetime, str] | None:
    """The time and place that `format_position` wrote; None for other texts."""
    match = POSITION.fullmatch(text)
    if match is None:
        return None
    time = from_microseconds(int(match[1]))
    return (time, match[2]) if EARLIEST < time < LATEST else None
