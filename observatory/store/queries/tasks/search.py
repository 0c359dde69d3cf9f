"""Finds tasks by a part of their key, in a stretch of a cluster's time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import find_keys
from observatory.store.times import from_microseconds
from observatory.wire.records import TASK_STATES, Action

Row = TypeVar("Row")
TaskId = tuple[int, str]
"""group and the rest of the key"""


class Where(Enum):
    """Where a key contains the text."""

    GROUP = "span.group_id = ANY(%(groups)s)"
    """in the name of its group: interned, so that it is found without reading keys"""
    KEY = "NOT span.group_id = ANY(%(groups)s) AND {found}"
    """anywhere else"""
    ANYWHERE = "(span.group_id = ANY(%(groups)s) OR {found})"

    @property
    def sql(self) -> str:
        return self.value.format(
            found="strpos(lower(replace(key_rest, U&'\\0001', task_group.name)), lower(%(text)s)) > 0"
        )


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` up to the place (stop, number): microseconds, and what orders tasks of the same time."""

    start: int
    stop: int
    number: int


@dataclass(frozen=True, slots=True)
class MatchedTask:
    """The computation of a task, or its submission."""

    group_id: int
    rest: str
    key: str
    prefix: str
    color: str
    time: datetime
    """start of the computation, or time of the submission"""
    stop: datetime | None
    """None: a submission"""
    worker_id: int | None
    worker: str
    erred: bool
    number: int
    """orders tasks of the same time"""

    @property
    def id(self) -> TaskId:
        return self.group_id, self.rest


@dataclass(frozen=True, slots=True)
class LastError:
    """The last failed attempt of a task."""

    id: UUID
    exception_type: str
    outcome: str


NUMBER: LiteralString = "hashtextextended(key_rest, group_id)"
TASK: LiteralString = """group_id, key_rest AS rest, replace(key_rest, U&'\\0001', task_group.name) AS key,
    prefix.name AS prefix, prefix.color AS color"""
WITH_PREFIX: LiteralString = """
    JOIN task_group ON task_group.id = group_id JOIN prefix ON prefix.id = task_group.prefix_id"""
COMPUTED: LiteralString = f"""
    SELECT {TASK}, start AS time, stop, worker.id AS worker_id,
        coalesce(nullif(worker.name, ''), worker.address) AS worker, found.status <> 0 AS erred,
        {NUMBER} AS number
    FROM found {WITH_PREFIX} JOIN lane ON lane.id = lane_id JOIN worker ON worker.id = lane.worker_id
    ORDER BY time DESC, number DESC"""
SUBMITTED: LiteralString = f"""
    SELECT {TASK}, time, NULL::timestamptz AS stop, NULL::int AS worker_id, '' AS worker, false AS erred,
        {NUMBER} AS number
    FROM found {WITH_PREFIX} ORDER BY time DESC, number DESC"""
OF_TASKS: LiteralString = """cluster_id = %(cluster)s AND {time} >= %(since)s
    AND group_id = ANY(%(groups)s) AND key_rest = ANY(%(rests)s)
    AND (group_id, key_rest) IN (SELECT * FROM unnest(%(groups)s::int[], %(rests)s::text[]))"""


def groups_with(connection: psycopg.Connection, cluster: int, text: str) -> list[int]:
    """Return the groups whose name contains the text; case-insensitive."""
    rows = connection.execute(
        "SELECT id FROM task_group WHERE cluster_id = %s AND strpos(lower(name), lower(%s)) > 0",
        [cluster, text],
    )
    return [group for (group,) in rows]


def computed_in(
    connection: psycopg.Connection,
    cluster: int,
    text: str,
    groups: Sequence[int],
    where: Where,
    stretch: Stretch,
    limit: int,
) -> list[MatchedTask]:
    """Return the last computations that start in the stretch, newest first; `groups` are `groups_with`."""
    query = f"""
        WITH found AS (
            SELECT span.* FROM span JOIN task_group ON task_group.id = group_id
            WHERE span.cluster_id = %(cluster)s AND action = %(compute)s
                AND start >= %(start)s AND start <= %(stop)s
                AND (start, {NUMBER}) < (%(stop)s, %(number)s) AND {where.sql}
            ORDER BY start DESC, {NUMBER} DESC LIMIT %(limit)s)
        {COMPUTED}"""
    return _matched(connection, query, cluster, text, groups, stretch, limit)


def submitted_in(
    connection: psycopg.Connection,
    cluster: int,
    text: str,
    groups: Sequence[int],
    stretch: Stretch,
    limit: int,
) -> list[MatchedTask]:
    """Return the last submissions in the stretch, newest first. Only agents report submissions."""
    query = f"""
        WITH found AS (
            SELECT span.* FROM task AS span JOIN task_group ON task_group.id = group_id
            WHERE span.cluster_id = %(cluster)s AND time >= %(start)s AND time <= %(stop)s
                AND (time, {NUMBER}) < (%(stop)s, %(number)s) AND {Where.ANYWHERE.sql}
            ORDER BY time DESC, {NUMBER} DESC LIMIT %(limit)s)
        {SUBMITTED}"""
    return _matched(connection, query, cluster, text, groups, stretch, limit)


def tasks_with_key(connection: psycopg.Connection, cluster: int, key: str) -> list[MatchedTask]:
    """Return the last computation and the last submission of each task with exactly this key."""
    keys = find_keys(connection, cluster, key)
    found: list[MatchedTask] = []
    for table, order, select in (("span", "start", COMPUTED), ("task", "time", SUBMITTED)):
        action = f"AND action = {int(Action.COMPUTE)}" if table == "span" else ""
        query = f"""
            WITH found AS (
                SELECT DISTINCT ON (group_id, key_rest) * FROM {table}
                WHERE cluster_id = %(cluster)s AND {keys.condition()} {action}
                ORDER BY group_id, key_rest, {order} DESC)
            {select}"""
        found += _rows(connection, MatchedTask, query, {"cluster": cluster, **keys.parameters})
    return found


def computed_tasks(connection: psycopg.Connection, cluster: int, tasks: Sequence[MatchedTask]) -> set[TaskId]:
    """Return those of the tasks that computed since their submission."""
    query = f"""SELECT DISTINCT group_id, key_rest FROM span
        WHERE {OF_TASKS.format(time="start")} AND action = {int(Action.COMPUTE)}"""
    return set(_of_tasks(connection, query, cluster, tasks))


def last_states(
    connection: psycopg.Connection, cluster: int, tasks: Sequence[MatchedTask]
) -> dict[TaskId, str]:
    """Return the last state of each task of which transitions are recorded."""
    query = f"""SELECT DISTINCT ON (group_id, key_rest) group_id, key_rest, finish FROM transition
        WHERE {OF_TASKS.format(time="time")} ORDER BY group_id, key_rest, time DESC"""
    rows = _of_tasks(connection, query, cluster, tasks)
    return {
        (group, rest): TASK_STATES[finish] for group, rest, finish in rows if 0 <= finish < len(TASK_STATES)
    }


def last_errors(
    connection: psycopg.Connection, cluster: int, tasks: Sequence[MatchedTask]
) -> dict[TaskId, LastError]:
    """Return the last failed attempt of each task of which one is recorded."""
    query = f"""SELECT DISTINCT ON (group_id, key_rest) group_id, key_rest, id, exception_type, outcome
        FROM error WHERE {OF_TASKS.format(time="time")} ORDER BY group_id, key_rest, time DESC"""
    rows = _of_tasks(connection, query, cluster, tasks)
    return {(group, rest): LastError(*error) for group, rest, *error in rows}


def _matched(
    connection: psycopg.Connection,
    query: str,
    cluster: int,
    text: str,
    groups: Sequence[int],
    stretch: Stretch,
    limit: int,
) -> list[MatchedTask]:
    parameters = {
        "cluster": cluster,
        "compute": int(Action.COMPUTE),
        "text": text,
        "groups": list(groups),
        "start": from_microseconds(stretch.start),
        "stop": from_microseconds(stretch.stop),
        "number": stretch.number,
        "limit": limit,
    }
    return _rows(connection, MatchedTask, query, parameters)


def _of_tasks(
    connection: psycopg.Connection, query: str, cluster: int, tasks: Sequence[MatchedTask]
) -> list[tuple[Any, ...]]:
    if not tasks:
        return []
    parameters = {
        "cluster": cluster,
        "since": min(task.time for task in tasks),
        "groups": [task.group_id for task in tasks],
        "rests": [task.rest for task in tasks],
    }
    return connection.execute(query.encode(), parameters, prepare=False).fetchall()


def _rows(
    connection: psycopg.Connection, kind: type[Row], query: str, parameters: dict[str, Any]
) -> list[Row]:
    with connection.cursor(row_factory=class_row(kind)) as cursor:
        # planned for its own text and groups: how tasks are found depends on their number
        return cursor.execute(query.encode(), parameters, prepare=False).fetchall()
