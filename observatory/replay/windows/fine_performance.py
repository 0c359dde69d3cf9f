"""Where the time of tasks went in a window, as Dask measures it: its fine performance metrics."""

from __future__ import annotations

from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.store.queries.extents import read_extent
from observatory.store.queries.windows import fine_performance as store
from observatory.store.queries.windows.prefixes import prefix_names

MOST_ACTIVITIES = 2_000
"""activities, and of Dask spans as many"""

Item = dict[str, Any]


def fine_performance_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's fine performance metrics of [after, before) (microseconds)."""
    cluster, extent = scope.cluster.pk, read_extent(connection, scope.cluster.pk)
    start, stop = max(after, scope.start), min(before, scope.stop)
    if extent is None or start >= stop:
        return {"activities": [], "spans": []}
    found = store.increases(connection, cluster, round(extent.first * 1e6), start, stop)
    found.sort(key=lambda increase: -increase.value)
    ids = {name: id for id, name in prefix_names(connection, cluster).items()}
    spans = store.activities_of_spans(connection, cluster, start, stop, MOST_ACTIVITIES)
    return {
        "activities": [_activity(scope, increase, ids) for increase in found[:MOST_ACTIVITIES]],
        "spans": None if spans is None else [_of_span(scope, each) for each in spans],
    }


def _activity(scope: Scope, increase: store.Increase, ids: dict[str, int]) -> Item:
    context, name, activity, unit = (
        increase.labels.get(label, "") for label in ("context", "prefix", "activity", "unit")
    )
    return {
        "context": context,
        "prefix": ids.get(name),
        "name": scope.text(name) if name else "",
        "activity": activity,
        "unit": unit,
        "value": increase.value,
    }


def _of_span(scope: Scope, found: store.SpanActivity) -> Item:
    names = [scope.text(str(name)) for name in found.names]
    return {"names": names, "activity": found.activity, "unit": found.unit, "value": found.value}
