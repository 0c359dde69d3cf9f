"""What the pages of a cluster share: who may see it, its tabs, and the query strings of its records."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest

from observatory.clusters import access
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.queries.extents import extents
from observatory.store.queries.task_history import agent_coverage
from observatory.store.times import EPOCH, from_microseconds, to_microseconds

FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
MAXIMUM_WORDS_LENGTH = 500
MARK = re.compile(r"(\d{1,16})_(.{1,40})")


def cluster_of(request: HttpRequest, cluster_id: int) -> Cluster:
    """Raises Http404 for a cluster that isn't there and one that one may not see alike."""
    return access.get_cluster(cast(User, request.user), cluster_id)


def frame(cluster: Cluster, tab: str) -> dict[str, Any]:
    """What the template around every page of a cluster shows; `tab` is the one that is open."""
    extent = extents([cluster.pk]).get(cluster.pk)
    return {
        "cluster": cluster,
        "current_project": cluster.project,
        "tab": tab,
        "error_count": extent.errors if extent else 0,
    }


def record_frame(cluster: Cluster, tab: str) -> dict[str, Any]:
    """`frame`, and whether an agent reports: without one a page of records says why it is empty."""
    with read_connection() as connection:
        return {**frame(cluster, tab), "agent": agent_coverage(connection, cluster.pk)}


def words(request: HttpRequest, name: str) -> str:
    """A text of the query string."""
    return request.GET.get(name, "").strip()[:MAXIMUM_WORDS_LENGTH]


def moment(text: str) -> datetime | None:
    """A time in a query string: seconds since the epoch, or as a form's field writes it, in UTC."""
    try:
        time = EPOCH + timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            return None
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time if FIRST < time < LAST else None


def mark_of(time: datetime, place: object) -> str:
    """A row's place in a list, for the query string that goes on from there."""
    return f"{to_microseconds(time)}_{place}"


def mark_in(text: str) -> tuple[datetime, str] | None:
    """What `mark_of` wrote; None for anything else."""
    found = MARK.fullmatch(text)
    if found is None:
        return None
    time = from_microseconds(int(found[1]))
    return (time, found[2]) if FIRST < time < LAST else None
