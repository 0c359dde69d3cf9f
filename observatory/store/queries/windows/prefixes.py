"""Reads durations and the longest tasks of prefixes in a window, and the names of prefixes and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import decode_key
from observatory.store.times import from_microseconds
from observatory.wire.records import Action, Status

COMPUTED: LiteralString = """
    cluster_id = %(cluster)s AND start < %(stop)s AND stop >= %(start)s AND action = %(compute)s
        AND greatest(stop - interval '1 microsecond', start) >= %(start)s
        AND greatest(stop - interval '1 microsecond', start) < %(stop)s"""
"""of spans: computations that end in [start, stop)"""
SLOWEST: LiteralString = f"""
    WITH slowest AS MATERIALIZED (
        SELECT lane_id, group_id, key_rest, start, stop, status FROM span
        WHERE {COMPUTED} AND prefix_id = %(prefix)s
        ORDER BY stop - start DESC, start LIMIT %(limit)s)
    SELECT worker_id, lane_id, key_rest, task_group.name, extract(epoch FROM start)::float8,
        extract(epoch FROM stop)::float8, status = %(error)s
    FROM slowest JOIN lane ON lane.id = lane_id JOIN task_group ON task_group.id = group_id"""


@dataclass(frozen=True, slots=True)
class SlowTask:
    """A span that computed; times in seconds."""

    worker: int
    lane: int
    key: str
    start: float
    stop: float
    erred: bool

    @property
    def seconds(self) -> float:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class GroupName:
    id: int
    name: str
    prefix: int


def slowest_tasks(
    connection: psycopg.Connection,
    cluster: int,
    prefix: int,
    start: int,
    stop: int,
    limit: int,
) -> list[SlowTask]:
    """Return the longest computations of a prefix that end in [start, stop) (microseconds)."""
    parameters = {
        **_window(cluster, start, stop),
        "prefix": prefix,
        "error": int(Status.ERROR),
        "limit": limit,
    }
    rows = connection.execute(SLOWEST, parameters).fetchall()
    return [
        SlowTask(worker, lane, decode_key(rest, group), *times) for worker, lane, rest, group, *times in rows
    ]


def duration_quantiles(
    connection: psycopg.Connection,
    cluster: int,
    by: Literal["prefix", "task_group"],
    start: int,
    stop: int,
    quantiles: Sequence[float],
) -> dict[int, list[float]]:
    """Return quantiles (seconds) of the computations that end in [start, stop) (µs), by id: exact ones."""
    column: LiteralString = "prefix_id" if by == "prefix" else "group_id"
    rows = connection.execute(
        f"""SELECT {column}, percentile_cont(%(quantiles)s::float8[]) WITHIN GROUP (
                ORDER BY extract(epoch FROM stop - start)::float8)
            FROM span WHERE {COMPUTED} GROUP BY 1""",
        {**_window(cluster, start, stop), "quantiles": list(quantiles)},
    )
    return dict(rows.fetchall())


def group_names(connection: psycopg.Connection, cluster: int, groups: Sequence[int]) -> list[GroupName]:
    """Return the names and prefixes of groups."""
    with connection.cursor(row_factory=class_row(GroupName)) as cursor:
        return cursor.execute(
            "SELECT id, name, prefix_id AS prefix FROM task_group WHERE cluster_id = %s AND id = ANY(%s)",
            [cluster, list(groups)],
        ).fetchall()


def groups_of(connection: psycopg.Connection, cluster: int, prefix: int) -> list[int]:
    """Return the ids of a prefix' groups."""
    rows = connection.execute(
        "SELECT id FROM task_group WHERE cluster_id = %s AND prefix_id = %s", [cluster, prefix]
    )
    return [group for (group,) in rows]


def prefix_names(connection: psycopg.Connection, cluster: int) -> dict[int, str]:
    """Return the names of all prefixes."""
    rows = connection.execute("SELECT id, name FROM prefix WHERE cluster_id = %s", [cluster])
    return dict(rows.fetchall())


def _window(cluster: int, start: int, stop: int) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "start": from_microseconds(start),
        "stop": from_microseconds(stop),
        "compute": int(Action.COMPUTE),
    }
