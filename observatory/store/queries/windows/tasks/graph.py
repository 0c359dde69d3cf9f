"""Reads graphs of a window: edges between groups, and tasks with their changes of state and their edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString, NamedTuple

import psycopg

from observatory.store.queries.sums.state_sums import IS_FIRST
from observatory.store.queries.timeline import WITHIN, window_parameters
from observatory.store.times import from_microseconds
from observatory.wire.records import Action, Status

EDGES_OF_GROUPS: LiteralString = """
    WITH wanted AS MATERIALIZED (
        SELECT id, (place - 1)::int AS place
        FROM unnest(%(groups)s::int[]) WITH ORDINALITY AS wanted (id, place))
    SELECT one.place, other.place, sum(edges)::float8 AS edges
    FROM group_dependency
    JOIN wanted AS one ON one.id = group_id JOIN wanted AS other ON other.id = depends_on_id
    WHERE cluster_id = %(cluster)s AND time < %(stop)s
    GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(limit)s"""
EDGES_OF_TASKS: LiteralString = """
    WITH wanted AS MATERIALIZED (
        SELECT id, rest, (place - 1)::int AS place
        FROM unnest(%(groups)s::int[], %(rests)s::text[]) WITH ORDINALITY AS wanted (id, rest, place))
    SELECT DISTINCT one.place, other.place
    FROM dependency
    JOIN wanted AS one ON one.id = group_id AND one.rest = key_rest
    JOIN wanted AS other ON other.id = depends_on_group_id AND other.rest = depends_on_rest
    WHERE cluster_id = %(cluster)s AND time < %(stop)s LIMIT %(limit)s"""


class TaskChange(NamedTuple):
    """A transition of a task; time in seconds, states as positions in TASK_STATES."""

    group: int
    rest: str
    time: float
    start: int
    finish: int
    is_first: bool
    """whether a graph brought the task"""


class TaskSpan(NamedTuple):
    """A computation of a task; times in seconds."""

    group: int
    rest: str
    start: float
    stop: float
    erred: bool


def group_edges(
    connection: psycopg.Connection, cluster: int, groups: Sequence[int], stop: int, limit: int
) -> list[tuple[int, int, float]]:
    """Return (group, group that it needs, edges between tasks) of graphs submitted before `stop` (µs).

    The groups are positions in `groups`. Those with most edges come first.
    """
    parameters = {"cluster": cluster, "groups": list(groups), "stop": from_microseconds(stop), "limit": limit}
    return connection.execute(EDGES_OF_GROUPS, parameters).fetchall()


def task_changes(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[TaskChange]:
    """Return the transitions in [start, stop) (microseconds), in order of time."""
    rows = connection.execute(
        f"""SELECT group_id, key_rest, extract(epoch FROM time)::float8, start, finish, {IS_FIRST}
            FROM transition WHERE {WITHIN} AND start <> finish AND start >= 0 AND finish >= 0
            ORDER BY time""",
        window_parameters(cluster, start, stop),
    )
    return list(map(TaskChange._make, rows))


def task_spans(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[TaskSpan]:
    """Return the computations that start in [start, stop) (microseconds), in their order."""
    rows = connection.execute(
        """SELECT group_id, key_rest, extract(epoch FROM start)::float8, extract(epoch FROM stop)::float8,
               status = %(error)s
           FROM span WHERE cluster_id = %(cluster)s AND start >= %(start)s AND start < %(stop)s
               AND action = %(compute)s ORDER BY start""",
        {
            **window_parameters(cluster, start, stop),
            "compute": int(Action.COMPUTE),
            "error": int(Status.ERROR),
        },
    )
    return list(map(TaskSpan._make, rows))


def task_edges(
    connection: psycopg.Connection, cluster: int, tasks: Sequence[tuple[int, str]], stop: int, limit: int
) -> list[tuple[int, int]]:
    """Return (task, task that it needs) as positions in `tasks`, which are (group id, rest of the key).

    Needs a transaction (`snapshot`).
    """
    # one pass over the edges: looking up thousands of keys one by one takes longer
    connection.execute("SELECT set_config('enable_nestloop', 'off', true)")
    parameters = {
        "cluster": cluster,
        "groups": [group for group, _ in tasks],
        "rests": [rest for _, rest in tasks],
        "stop": from_microseconds(stop),
        "limit": limit,
    }
    return connection.execute(EDGES_OF_TASKS, parameters, prepare=False).fetchall()
