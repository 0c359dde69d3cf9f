"""Windows of clusters that outlive retention, and the holes that retention leaves around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise

import psycopg
from psycopg import sql

from observatory.store.schema.time_series import TimeSeries


@dataclass(frozen=True, slots=True, order=True)
class RetainedWindow:
    """The window [start, stop) of a cluster, with the records that overlap it."""

    cluster: int
    start: datetime
    stop: datetime


def merge_windows(windows: Iterable[RetainedWindow]) -> list[RetainedWindow]:
    """Merge the windows of each cluster that overlap or touch; returns them sorted."""
    merged: list[RetainedWindow] = []
    for _, of_cluster in groupby(sorted(windows), key=lambda window: window.cluster):
        first = len(merged)
        for window in of_cluster:
            if len(merged) > first and window.start <= merged[-1].stop:
                merged[-1] = RetainedWindow(
                    window.cluster, merged[-1].start, max(merged[-1].stop, window.stop)
                )
            else:
                merged.append(window)
    return merged


def overlaps_any(table: TimeSeries, windows: Sequence[RetainedWindow]) -> sql.Composable:
    """Return the SQL condition that a row of `table` overlaps one of the windows."""
    if not windows:
        return sql.SQL("FALSE")
    time, end = sql.Identifier(table.time), sql.Identifier(table.end)
    conditions = [
        sql.SQL("(cluster_id = {} AND {} < {} AND {} {} {})").format(
            window.cluster,
            time,
            window.stop,
            end,
            sql.SQL(">=" if table.end == table.time else ">"),
            window.start,
        )
        for window in windows
    ]
    return sql.SQL("({})").format(sql.SQL(" OR ").join(conditions))


def holes_between(windows: Sequence[RetainedWindow], cutoff: datetime) -> list[tuple[datetime, datetime]]:
    """Return the time ranges between the sorted windows of one cluster, and after them up to `cutoff`."""
    edges = [*((window.start, window.stop) for window in windows), (cutoff, cutoff)]
    return [(stop, start) for (_, stop), (start, _) in pairwise(edges) if stop < start]


def holes(connection: psycopg.Connection, cluster: int) -> list[tuple[float, float]]:
    """Return the time ranges (seconds) of a cluster from which retention removed all records."""
    return connection.execute(
        """SELECT extract(epoch FROM start)::float8, extract(epoch FROM stop)::float8
           FROM hole WHERE cluster_id = %s ORDER BY start""",
        [cluster],
    ).fetchall()
