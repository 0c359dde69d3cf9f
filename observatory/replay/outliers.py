"""The workers of a window that stand out: those with the greatest figures."""

from __future__ import annotations

import heapq
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.store.queries.extents import read_extent
from observatory.store.queries.windows import outliers as store

MOST = 10
"""workers that are named for each figure"""


def outliers_of(
    connection: psycopg.Connection, scope: Scope, after: int, before: int
) -> list[dict[str, Any]]:
    """Return all figures of the workers with the greatest of one, in [after, before) (microseconds).

    A figure is None where it is unknown. The connection must be in a snapshot.
    """
    extent = read_extent(connection, scope.cluster.pk)
    if extent is None:
        return []
    start = max(after, scope.start, round(extent.first * 1e6))
    stop = min(before, scope.stop, round(extent.last * 1e6) + 1)
    if start >= stop:
        return []
    window = (connection, scope.cluster.pk, start, stop)
    figures = {
        "duration_ratio": store.duration_ratios(*window),
        "errors": store.error_counts(*window),
        "memory_slope": store.memory_slopes(*window),
        "paused": store.paused_seconds(*window),
        "received": store.received_bytes(*window),
    }
    named = {worker for by_worker in figures.values() for worker in _greatest(by_worker)}
    return [
        {"worker": worker, **{name: by_worker.get(worker) for name, by_worker in figures.items()}}
        for worker in sorted(named)
    ]


def _greatest(by_worker: store.Figures) -> list[int]:
    positive = [worker for worker, value in by_worker.items() if value > 0]
    return heapq.nlargest(MOST, positive, key=by_worker.__getitem__)
