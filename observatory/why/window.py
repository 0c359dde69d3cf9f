"""The part of a window that can be explained at once."""

from __future__ import annotations

from typing import Any

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.windows.sums import recorded_part
from observatory.runs.stops import stop_of_cluster
from observatory.store.queries.windows.row_counts import has_more_spans
from observatory.store.times import MAXIMUM_TIME, to_microseconds

Item = dict[str, Any]
"""an answer of the API, or a part of one"""
MOST_SPANS = 300_000
"""actions of tasks that are accounted for at once"""


class TooManyTasks(ValueError):
    """The window has more tasks than are accounted for at once."""

    def __init__(self, what: str = f"{MOST_SPANS:,} actions of tasks") -> None:
        super().__init__(
            f"This window has over {what}. Choose a shorter one: drag in the overview, or zoom with Ctrl "
            "and the wheel."
        )


def readable_part(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, most: int | None = None
) -> tuple[int, int]:
    """Return the part of [after, before) that was recorded (microseconds), while the scheduler was heard.

    That an agent is silent is recorded, too.

    Raises TooManyTasks where it has over `most` actions of tasks, by default MOST_SPANS.
    """
    start, stop = recorded_part(connection, scope, after, before)
    stop = max(start, min(stop, _heard_until(scope.cluster)))
    if has_more_spans(connection, scope.cluster.pk, start, stop, None, most or MOST_SPANS):
        raise TooManyTasks
    return start, stop


def _heard_until(cluster: Cluster) -> int:
    """When the scheduler was heard of last (microseconds), where it is known to be gone or silent."""
    stop = stop_of_cluster(cluster)
    last = stop.time if stop else cluster.last_seen if cluster.agent_silent else None
    return MAXIMUM_TIME if last is None else to_microseconds(last) + 1
