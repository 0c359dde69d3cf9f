"""Windows that users give in seconds, clipped to the time that was recorded of a cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.core.exceptions import ValidationError
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.store.queries.extents import extents
from observatory.store.times import from_seconds

EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
TOLERANCE = timedelta(seconds=5)
"""how far the clock of a browser may be ahead of the server's"""


def time_from_epoch(seconds: float) -> datetime:
    """Raises ValidationError for times outside of EARLIEST and LATEST."""
    try:
        time = from_seconds(seconds)
    except (ValueError, OverflowError, OSError):
        time = EARLIEST
    if not EARLIEST < time < LATEST:
        raise ValidationError(
            f"{seconds:g} must be in seconds since 1970, as a time between the years 2000 and 2100."
        )
    return time


def recorded_window(cluster: Cluster) -> tuple[datetime, datetime]:
    """The first and the last recorded time, by the scheduler's clock; the last of a live cluster is now."""
    extent = extents([cluster.pk]).get(cluster.pk)
    last = cluster.ended or _now(cluster)
    if extent is None:
        return cluster.started, max(cluster.started, last)
    return time_from_epoch(extent.first), max(time_from_epoch(extent.last), last)


def clip_to_recorded(cluster: Cluster, start: datetime, stop: datetime) -> tuple[datetime, datetime]:
    """The recorded part of [start, stop]. Raises ValidationError if there is none."""
    first, last = recorded_window(cluster)
    if stop < first or start > last + TOLERANCE:
        raise ValidationError(
            "Nothing was recorded in this window: choose one between "
            f"{first:%Y-%m-%d %H:%M:%S} and {last:%Y-%m-%d %H:%M:%S} UTC."
        )
    return min(max(start, first), last), min(stop, last)


def _now(cluster: Cluster) -> datetime:
    """By the scheduler's clock."""
    offset = cluster.target.clock_offset if cluster.target else 0.0
    return now() + timedelta(seconds=offset)
