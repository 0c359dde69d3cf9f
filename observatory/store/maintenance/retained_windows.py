"""Windows of clusters whose records outlive retention, and what isn't there any more between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise

import psycopg
from psycopg import sql

from observatory.store.schema.time_series import TimeSeries


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """The records of a cluster in [start, stop), and those that overlap it."""

    cluster: int
    start: datetime
    stop: datetime


def merge_windows(windows: Iterable[Window]) -> list[Window]:
    """The same time in windows that don't overlap, in order."""
    found: list[Window] = []
    for _, several in groupby(sorted(windows), key=lambda window: window.cluster):
        first = len(found)
        for window in several:
            if len(found) > first and window.start <= found[-1].stop:
                found[-1] = Window(window.cluster, found[-1].start, max(found[-1].stop, window.stop))
            else:
                found.append(window)
    return found


def overlaps_any(table: TimeSeries, windows: Sequence[Window]) -> sql.Composable:
    """The condition that a row of the table lies in one of the windows."""
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


def holes_between(windows: Sequence[Window], cutoff: datetime) -> list[tuple[datetime, datetime]]:
    """What lies between the windows of one cluster, which are in order, and up to `cutoff`."""
    edges = [*((window.start, window.stop) for window in windows), (cutoff, cutoff)]
    return [(stop, start) for (_, stop), (start, _) in pairwise(edges) if stop < start]


def holes(connection: psycopg.Connection, cluster: int) -> list[tuple[float, float]]:
    """The stretches (seconds) of a cluster's time whose records retention has removed."""
    return connection.execute(
        """SELECT extract(epoch FROM start)::float8, extract(epoch FROM stop)::float8
           FROM hole WHERE cluster_id = %s ORDER BY start""",
        [cluster],
    ).fetchall()
