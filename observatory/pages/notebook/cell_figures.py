"""What a cluster did since a cell of a notebook began: the figures of the panel below the cell."""

from __future__ import annotations

import time
from typing import Any

from observatory.clusters.live.scheduler_clock import scheduler_time
from observatory.clusters.models import Cluster
from observatory.replay.progress import complete_keyframes
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.store.connection import read_connection
from observatory.store.queries import timeline
from observatory.store.queries.extents import read_extent
from observatory.store.times import MAXIMUM_TIME

MOST_PREFIXES = 6
"""that are listed: those with most tasks"""

Item = dict[str, Any]


def cell_figures(cluster: Cluster, seconds: float) -> Item:
    """The newest figures of a cluster; tasks are those since `seconds` ago, on the scheduler's clock."""
    complete_keyframes(cluster)
    with read_connection() as connection, timeline.snapshot(connection):
        extent = read_extent(connection, cluster.pk)
        now = scheduler_time(cluster, extent, time.time()) if extent else time.time()
        since = max(now - seconds, 0.0)
        state = state_at(connection, Scope(cluster, start=round(since * 1e6)), MAXIMUM_TIME)
    rows, others = state["progress"], state["other_progress"]
    shown = sorted(rows, key=_tasks, reverse=True)[:MOST_PREFIXES]
    return {
        "since": since,
        "at": min(state["at"], now),
        "done": _sum([*rows, others], "done"),
        "erred": _sum([*rows, others], "erred"),
        "total": _sum([*rows, others], "total"),
        "prefixes": shown,
        "more_prefixes": len(rows) - len(shown) + (others["prefixes"] if others else 0),
        "workers": len(state["workers"]),
        "threads": state["totals"]["threads"],
        "running": sum(worker["running"] or 0 for worker in state["workers"]),
        "memory": sum(worker["memory"] or 0 for worker in state["workers"]),
        "memory_limit": sum(worker["limit"] or 0 for worker in state["workers"]),
        "spilled": sum(worker["spilled"] or 0 for worker in state["workers"]),
    }


def _tasks(row: Item) -> int:
    return int(max(row["total"] or 0, row["done"] + (row["erred"] or 0)))


def _sum(rows: list[Item | None], name: str) -> int:
    """What isn't known of a prefix counts as what is known to be finished."""
    known = [row for row in rows if row is not None]
    return sum(_tasks(row) if name == "total" else row[name] or 0 for row in known)
