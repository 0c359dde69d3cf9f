"""Conversions between datetimes (UTC), seconds and microseconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_2000 = 946_684_800_000_000
"""microseconds from 1970 to 2000, the epoch of PostgreSQL"""
MAXIMUM_TIME = 4_102_444_800_000_000
"""microseconds: the year 2100"""


def from_seconds(seconds: float) -> datetime:
    """The datetime of a time in seconds, rounded to microseconds."""
    return datetime.fromtimestamp(seconds, UTC)


def from_microseconds(microseconds: int) -> datetime:
    """The datetime of a time in microseconds, clamped to 1970 to 2100."""
    return EPOCH + timedelta(microseconds=min(max(int(microseconds), 0), MAXIMUM_TIME))


def to_microseconds(time: datetime) -> int:
    """The exact microseconds of a datetime."""
    return (time - EPOCH) // timedelta(microseconds=1)


def seconds_to_microseconds(seconds: float) -> int:
    """The microseconds of a time in seconds, rounded."""
    return round(seconds * 1e6)
