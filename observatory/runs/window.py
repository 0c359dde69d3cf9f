"""The window of a cluster's time that somebody names: as seconds, within what was recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.core.exceptions import ValidationError
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.store.queries.extents import extents
from observatory.store.times import from_seconds

EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
AHEAD = timedelta(seconds=5)
"""how far a page's now may be ahead of ours"""


def moment(seconds: float) -> datetime:
    """Of seconds since the epoch. Raises ValidationError for what no scheduler's clock shows."""
    try:
        time = from_seconds(seconds)
    except (ValueError, OverflowError, OSError):
        time = EARLIEST
    if not EARLIEST < time < LATEST:
        raise ValidationError(f"{seconds:g} is no time between 2000 and 2100 in seconds since 1970.")
    return time


def recorded(cluster: Cluster) -> tuple[datetime, datetime]:
    """From when to when there is something to see, on the scheduler's clock: until now while it is live."""
    extent = extents([cluster.pk]).get(cluster.pk)
    last = cluster.ended or _now(cluster)
    if extent is None:
        return cluster.started, max(cluster.started, last)
    return moment(extent.first), max(moment(extent.last), last)


def within(cluster: Cluster, start: datetime, stop: datetime) -> tuple[datetime, datetime]:
    """The part of [start, stop] that was recorded. Raises ValidationError where nothing was."""
    first, last = recorded(cluster)
    if stop < first or start > last + AHEAD:
        raise ValidationError(
            f"Nothing was recorded then: the cluster was recorded from {first:%Y-%m-%d %H:%M:%S} "
            f"to {last:%Y-%m-%d %H:%M:%S} UTC."
        )
    return min(max(start, first), last), min(stop, last)


def _now(cluster: Cluster) -> datetime:
    offset = cluster.target.clock_offset if cluster.target else 0.0
    return now() + timedelta(seconds=offset)
