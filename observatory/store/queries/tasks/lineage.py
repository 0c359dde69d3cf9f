"""Reads what a task was made of and what was made of it: its neighbours in the graph, with their spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import StoredKeys
from observatory.store.times import from_microseconds
from observatory.wire.records import Action


class Direction(Enum):
    """An end of the edges of a task: columns of its own end, and of the other one."""

    DEPENDENCIES = ("group_id", "key_rest", "depends_on_group_id", "depends_on_rest")
    DEPENDENTS = ("depends_on_group_id", "depends_on_rest", "group_id", "key_rest")


@dataclass(frozen=True, slots=True)
class ClusterWindow:
    """[start, stop) of a cluster, in microseconds."""

    cluster: int
    start: int
    stop: int

    def parameters(self) -> dict[str, Any]:
        start, stop = from_microseconds(self.start), from_microseconds(self.stop)
        return {"cluster": self.cluster, "start": start, "stop": stop, "compute": int(Action.COMPUTE)}


@dataclass(frozen=True, slots=True)
class ComputedSpan:
    """A computing span of a task; times in seconds."""

    key: str
    prefix: int
    lane: int
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A task at the other end of an edge."""

    key: str
    prefix: int
    group_id: int
    rest: str
    total: int
    """number of all neighbours in this direction"""


@dataclass(frozen=True, slots=True)
class NeighbourSpan(ComputedSpan):
    """A computing span of a neighbour."""

    tasks: int
    """number of all neighbours that computed in the window"""


_SPAN: LiteralString = """
    SELECT replace(span.key_rest, U&'\\0001', task_group.name) AS key, span.prefix_id AS prefix,
        lane_id AS lane, extract(epoch FROM start)::float8 AS start, extract(epoch FROM stop)::float8 AS stop
    FROM span JOIN task_group ON task_group.id = span.group_id"""
_COMPUTED: LiteralString = """
    span.cluster_id = %(cluster)s AND start < %(stop)s AND stop > %(start)s AND action = %(compute)s"""
_NEAREST: LiteralString = """
    SELECT *, (SELECT count(DISTINCT key) FROM computed) AS tasks FROM computed
    ORDER BY abs(start - %(near)s), start, lane LIMIT %(limit)s"""


def spans_of_task(
    connection: psycopg.Connection, window: ClusterWindow, keys: StoredKeys, limit: int
) -> list[ComputedSpan]:
    """Return the first computing spans of the task, sorted by start."""
    with connection.cursor(row_factory=class_row(ComputedSpan)) as cursor:
        return cursor.execute(
            f"{_SPAN} WHERE {_COMPUTED} AND {keys.condition()} ORDER BY start LIMIT %(limit)s",
            {**window.parameters(), **keys.parameters, "limit": limit},
        ).fetchall()


def neighbours(
    connection: psycopg.Connection, cluster: int, keys: StoredKeys, direction: Direction, limit: int
) -> list[Neighbour]:
    """Return the first neighbours of the task by key. An edge that was submitted twice counts once."""
    with connection.cursor(row_factory=class_row(Neighbour)) as cursor:
        return cursor.execute(
            f"""WITH {_neighbour(keys, direction)}
                SELECT replace(rest, U&'\\0001', name) AS key, prefix_id AS prefix, group_id, rest,
                    count(*) OVER () AS total
                FROM neighbour JOIN task_group ON task_group.id = group_id ORDER BY key LIMIT %(limit)s""",
            {"cluster": cluster, **keys.parameters, "limit": limit},
        ).fetchall()


def spans_of_few(
    connection: psycopg.Connection, window: ClusterWindow, tasks: Sequence[Neighbour], near: float, limit: int
) -> list[NeighbourSpan]:
    """Return the spans of the tasks that start nearest to `near` (seconds), the nearest first."""
    return _nearest(
        connection,
        f"""WITH computed AS MATERIALIZED ({_SPAN}
                WHERE {_COMPUTED} AND group_id = ANY(%(groups)s) AND key_rest = ANY(%(rests)s)
                    AND (group_id, key_rest) IN (SELECT * FROM unnest(%(groups)s::int[], %(rests)s::text[])))
            {_NEAREST}""",
        {
            **window.parameters(),
            "groups": [task.group_id for task in tasks],
            "rests": [task.rest for task in tasks],
            "near": near,
            "limit": limit,
        },
    )


def spans_of_all(
    connection: psycopg.Connection,
    window: ClusterWindow,
    keys: StoredKeys,
    direction: Direction,
    near: float,
    limit: int,
) -> list[NeighbourSpan]:
    """Return what `spans_of_few` does, of all neighbours of a task. Needs a transaction (`snapshot`)."""
    # one pass over the window's spans: looking up thousands of keys one by one takes minutes
    connection.execute("SELECT set_config('enable_nestloop', 'off', true)")
    return _nearest(
        connection,
        f"""WITH {_neighbour(keys, direction)}, computed AS MATERIALIZED ({_SPAN}
                JOIN neighbour ON neighbour.group_id = span.group_id AND neighbour.rest = span.key_rest
                WHERE {_COMPUTED})
            {_NEAREST}""",
        {**window.parameters(), **keys.parameters, "near": near, "limit": limit},
    )


def _neighbour(keys: StoredKeys, direction: Direction) -> LiteralString:
    group, rest, other_group, other_rest = direction.value
    return f"""neighbour AS MATERIALIZED (
        SELECT DISTINCT {other_group} AS group_id, {other_rest} AS rest FROM dependency
        WHERE cluster_id = %(cluster)s AND {keys.condition(group, rest)})"""


def _nearest(
    connection: psycopg.Connection, query: LiteralString, parameters: dict[str, Any]
) -> list[NeighbourSpan]:
    with connection.cursor(row_factory=class_row(NeighbourSpan)) as cursor:
        # planned for its own keys: how they are found depends on their number
        return cursor.execute(query, parameters, prepare=False).fetchall()
