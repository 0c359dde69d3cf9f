"""Reads a sample of the tasks of a window, with all of their spans and dependencies.

A task is the hash of its key, as in thread_time.py: those with the least hashes are always the same sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.queries.fetch import Array, fetch_packed_columns
from observatory.store.queries.timeline import OVERLAPS, WITHIN, window_parameters
from observatory.store.queries.windows.other_work import NONE, TASK, OtherWork
from observatory.wire.records import Action, Status

ROWS_AT_ONCE = 1_000
LONGEST_MESSAGE = 200
"""characters of the exception of a failed task"""
KEY: LiteralString = "replace(key_rest, U&'\\0001', task_group.name)"
TASK_TYPES = {"task": "int64", "group": "int32"}
TASKS: LiteralString = f"""
    SELECT task, group_id FROM (
        SELECT {TASK.format("span")} AS task, min(group_id) AS group_id,
            bool_or({KEY} = ANY(%(keys)s::text[])) AS is_kept,
            bool_or(status = {int(Status.ERROR)}) AS is_erred
        FROM span JOIN task_group ON task_group.id = group_id
        WHERE span.{OVERLAPS} AND NOT {{others}} GROUP BY 1) AS found
    ORDER BY is_kept DESC, is_erred DESC, task LIMIT %(most)s"""
SPANS: LiteralString = f"""
    SELECT {TASK.format("span")} AS task, {KEY} AS key, prefix.name AS prefix, task_group.name AS group,
        lane.worker_id AS worker, lane.position AS lane, action, status, start, stop, nbytes,
        typename.name AS typename
    FROM span JOIN task_group ON task_group.id = group_id JOIN prefix ON prefix.id = span.prefix_id
    JOIN lane ON lane.id = lane_id JOIN typename ON typename.id = typename_id
    WHERE span.{OVERLAPS} AND {TASK.format("span")} = ANY(%(tasks)s::bigint[])
    ORDER BY start, stop, lane_id, action, task LIMIT %(most)s"""
# = ANY hashes the tasks whatever is known of the tables: a join took minutes for rows that were just stored
EDGE_TYPES = {"task": "int64", "needs": "int64"}
EDGES: LiteralString = """
    SELECT task, needs FROM (
        SELECT hash_record_extended(ROW(group_id, key_rest), 0) AS task,
            hash_record_extended(ROW(depends_on_group_id, depends_on_rest), 0) AS needs
        FROM dependency
        WHERE cluster_id = %(cluster)s AND group_id IN (SELECT unnest(%(groups)s::int[]))
            AND time < %(stop)s) AS edge
    WHERE task = ANY(%(tasks)s::bigint[]) AND needs = ANY(%(tasks)s::bigint[])
    LIMIT %(most)s"""
FAILED_ATTEMPTS: LiteralString = f"""
    SELECT {TASK.format("span")} AS task, {KEY} AS key, lane.worker_id AS worker, action, start, stop
    FROM span JOIN task_group ON task_group.id = group_id JOIN lane ON lane.id = lane_id
    WHERE span.{OVERLAPS} AND status = {int(Status.ERROR)}
        AND action IN ({int(Action.COMPUTE)}, {int(Action.LONG_RUNNING)})
        AND {TASK.format("span")} = ANY(%(tasks)s::bigint[])
    ORDER BY start, stop LIMIT %(most)s"""
MESSAGES: LiteralString = f"""
    SELECT {TASK.format("error")}, exception_type || ': ' || left(message, {LONGEST_MESSAGE}) FROM error
    WHERE error.{WITHIN} AND {TASK.format("error")} = ANY(%(tasks)s::bigint[])
    ORDER BY time LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A computation that failed."""

    task: int
    key: str
    worker: int
    action: int
    start: datetime
    stop: datetime


@dataclass(frozen=True, slots=True)
class SampledSpan:
    task: int
    key: str
    prefix: str
    group: str
    worker: int
    lane: int
    action: int
    status: int
    start: datetime
    stop: datetime
    nbytes: int
    typename: str


@dataclass(frozen=True, slots=True)
class Process:
    """Where a worker's lifetime ran; empty where it isn't known."""

    id: int
    name: str
    address: str
    host: str
    pid: str
    started: datetime


def sampled_tasks(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    stop: int,
    keys: Sequence[str],
    most: int,
    others: OtherWork = NONE,
) -> dict[str, Array]:
    """Return up to `most` tasks of the window: columns of TASK_TYPES.

    First those with one of `keys`, then those that failed. Reads all spans of the window (microseconds).
    """
    query = TASKS.replace("{others}", others.includes("span"))
    of = {"keys": list(keys), "most": most, **others.parameters}
    return fetch_packed_columns(connection, query, window_parameters(cluster, start, stop) | of, TASK_TYPES)


def spans_of_tasks(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, tasks: Sequence[int], most: int
) -> Iterator[list[SampledSpan]]:
    """Yield up to `most` spans of tasks in the window in order of time, ROWS_AT_ONCE at once, always alike.

    Needs a transaction.
    """
    parameters = window_parameters(cluster, start, stop) | {"tasks": list(tasks), "most": most}
    with connection.cursor(name="sampled_spans", binary=True, row_factory=class_row(SampledSpan)) as cursor:
        cursor.execute(SPANS, parameters)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield rows


def edges_between(
    connection: psycopg.Connection,
    cluster: int,
    stop: int,
    tasks: Sequence[int],
    groups: Sequence[int],
    most: int,
) -> dict[str, Array]:
    """Return up to `most` dependencies between tasks, which are of `groups`: columns of EDGE_TYPES.

    Those that were submitted before `stop` (microseconds).
    """
    of = {"tasks": list(tasks), "groups": list(groups), "most": most}
    return fetch_packed_columns(connection, EDGES, window_parameters(cluster, 0, stop) | of, EDGE_TYPES)


def failed_attempts(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, tasks: Sequence[int], most: int
) -> list[FailedAttempt]:
    """Return the first `most` computations of tasks that failed in the window, in order of time."""
    parameters = window_parameters(cluster, start, stop) | {"tasks": list(tasks), "most": most}
    with connection.cursor(row_factory=class_row(FailedAttempt)) as cursor:
        return cursor.execute(FAILED_ATTEMPTS, parameters).fetchall()


def messages_of_tasks(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, tasks: Sequence[int], most: int
) -> dict[int, str]:
    """Return the last exceptions of tasks that failed in the window, of the first `most` failures."""
    parameters = window_parameters(cluster, start, stop) | {"tasks": list(tasks), "most": most}
    return dict(connection.execute(MESSAGES, parameters).fetchall())


def processes(connection: psycopg.Connection, cluster: int) -> dict[int, Process]:
    """Return where the workers of a cluster ran, by id, in the order in which they started."""
    with connection.cursor(row_factory=class_row(Process)) as cursor:
        found = cursor.execute(
            """SELECT id, name, address, host, coalesce(detail->>'pid', '') AS pid, started
               FROM worker WHERE cluster_id = %(cluster)s ORDER BY started, id""",
            {"cluster": cluster},
        ).fetchall()
    return {process.id: process for process in found}
