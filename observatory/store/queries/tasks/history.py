"""Reads the history of one task, and of the workers that ran it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import StoredKeys
from observatory.store.workers.thresholds import DEFAULTS, thresholds_of
from observatory.wire.records import TASK_STATES, Action

Row = TypeVar("Row")
MEMORY = "observatory_worker_memory_bytes"


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of the task's state."""

    time: datetime
    start: str
    finish: str
    """task states; "unknown" for a state that this version doesn't know"""
    worker_id: int | None
    worker: str
    """name or address of the worker; empty: none"""
    stimulus: str


@dataclass(frozen=True, slots=True)
class TaskSpan:
    """A timed action of the task."""

    start: datetime
    stop: datetime
    action: str
    erred: bool
    nbytes: int
    typename: str
    thread: int
    worker_id: int
    worker: str


@dataclass(frozen=True, slots=True)
class Submission:
    """How a task was submitted, by computation."""

    time: datetime
    computation: str
    priority: str
    retries: int
    annotations: Any
    resources: Any


@dataclass(frozen=True, slots=True)
class WorkerDetails:
    """One lifetime of a worker."""

    id: int
    address: str
    name: str
    host: str
    nthreads: int
    memory_limit: int
    """bytes; 0: none"""
    started: datetime
    ended: datetime | None
    end_reason: str
    detail: Any = None

    @property
    def terminate(self) -> float:
        """The share of its limit at which Dask terminates it; 0: never."""
        return (thresholds_of(self.detail) or DEFAULTS)["terminate"]


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """An event of a worker."""

    time: datetime
    kind: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentCoverage:
    """The time range in which agents reported."""

    since: datetime
    """when an agent began to record every task"""
    last: datetime


_WORKER: LiteralString = "coalesce(nullif(worker.name, ''), worker.address, '')"


def transitions(
    connection: psycopg.Connection, cluster: int, keys: StoredKeys, limit: int
) -> list[Transition]:
    """Return the first transitions of the task, sorted by time."""
    return _of_key(
        connection,
        Transition,
        f"""SELECT transition.time, coalesce((%(states)s::text[])[start + 1], 'unknown') AS start,
                coalesce((%(states)s::text[])[finish + 1], 'unknown') AS finish, worker_id,
                {_WORKER} AS worker, stimulus
            FROM transition LEFT JOIN worker ON worker.id = worker_id
            WHERE transition.cluster_id = %(cluster)s AND {keys.condition()}
            ORDER BY transition.time LIMIT %(limit)s""",
        cluster,
        keys,
        limit,
    )


def spans(connection: psycopg.Connection, cluster: int, keys: StoredKeys, limit: int) -> list[TaskSpan]:
    """Return the first spans of the task, sorted by start."""
    return _of_key(
        connection,
        TaskSpan,
        f"""SELECT start, stop, coalesce((%(actions)s::text[])[action + 1], 'unknown') AS action,
                span.status <> 0 AS erred, nbytes, typename.name AS typename, lane.thread, lane.worker_id,
                {_WORKER} AS worker
            FROM span
            JOIN typename ON typename.id = typename_id
            JOIN lane ON lane.id = lane_id JOIN worker ON worker.id = lane.worker_id
            WHERE span.cluster_id = %(cluster)s AND {keys.condition()}
            ORDER BY start LIMIT %(limit)s""",
        cluster,
        keys,
        limit,
    )


def submissions(
    connection: psycopg.Connection, cluster: int, keys: StoredKeys, limit: int
) -> list[Submission]:
    """Return one submission for each computation of the task, sorted by time."""
    return _of_key(
        connection,
        Submission,
        f"""SELECT task.time, computation, priority, retries, annotations, resources
           FROM task
           WHERE task.cluster_id = %(cluster)s AND {keys.condition()}
           ORDER BY task.time LIMIT %(limit)s""",
        cluster,
        keys,
        limit,
    )


def worker_lifetimes(
    connection: psycopg.Connection, cluster: int, addresses: Sequence[str], until: datetime
) -> list[WorkerDetails]:
    """Return the lifetimes at the addresses that started by `until`, sorted by start."""
    with connection.cursor(row_factory=class_row(WorkerDetails)) as cursor:
        return cursor.execute(
            """SELECT id, address, name, host, nthreads, memory_limit, started, ended, end_reason, detail
               FROM worker WHERE cluster_id = %s AND address = ANY(%s) AND started <= %s
               ORDER BY started, id""",
            [cluster, list(addresses), until],
        ).fetchall()


def process_memory(
    connection: psycopg.Connection, cluster: int, worker: int, start: datetime, stop: datetime
) -> list[tuple[datetime, float]]:
    """Return (time, bytes) of the worker's process memory in [start, stop]."""
    return connection.execute(
        """SELECT time, value FROM sample
           WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time <= %(stop)s AND series_id IN (
               SELECT id FROM series
               WHERE cluster_id = %(cluster)s AND metric = %(metric)s
                 AND worker_id = %(worker)s AND labels->>'type' = 'process')
           ORDER BY time""",
        {"cluster": cluster, "metric": MEMORY, "worker": worker, "start": start, "stop": stop},
    ).fetchall()


def worker_events(
    connection: psycopg.Connection, cluster: int, worker: int, start: datetime, stop: datetime, limit: int
) -> list[WorkerEvent]:
    """Return the events of a worker in [start, stop), sorted by time."""
    with connection.cursor(row_factory=class_row(WorkerEvent)) as cursor:
        return cursor.execute(
            """SELECT time, kind, detail FROM event
               WHERE cluster_id = %(cluster)s AND worker_id = %(worker)s
                 AND time >= %(start)s AND time < %(stop)s
               ORDER BY time, kind LIMIT %(limit)s""",
            {"cluster": cluster, "worker": worker, "start": start, "stop": stop, "limit": limit},
        ).fetchall()


def agent_coverage(connection: psycopg.Connection, cluster: int) -> AgentCoverage | None:
    """Return when agents reported; None for a cluster without an agent."""
    with connection.cursor(row_factory=class_row(AgentCoverage)) as cursor:
        return cursor.execute(
            """SELECT min(since) AS since, max(last) AS last FROM agent
               WHERE cluster_id = %s GROUP BY cluster_id""",
            [cluster],
        ).fetchone()


def prefixes(connection: psycopg.Connection, cluster: int, keys: StoredKeys) -> list[str]:
    """Return the prefix of each of the keys that has records, sorted."""
    groups = " UNION ".join(
        f"SELECT group_id FROM {table} WHERE cluster_id = %(cluster)s AND {keys.condition()}"
        for table in ("span", "transition", "task", "error")
    )
    rows = connection.execute(
        f"""SELECT prefix.name FROM ({groups}) AS found JOIN task_group ON task_group.id = found.group_id
            JOIN prefix ON prefix.id = task_group.prefix_id ORDER BY prefix.name""",
        {"cluster": cluster, **keys.parameters},
    )
    return [name for (name,) in rows]


def _of_key(
    connection: psycopg.Connection,
    kind: type[Row],
    query: LiteralString,
    cluster: int,
    keys: StoredKeys,
    limit: int,
) -> list[Row]:
    with connection.cursor(row_factory=class_row(kind)) as cursor:
        return cursor.execute(query, _parameters(cluster, keys, limit)).fetchall()


def _parameters(cluster: int, keys: StoredKeys, limit: int) -> dict[str, Any]:
    return {
        "cluster": cluster,
        **keys.parameters,
        "limit": limit,
        "states": list(TASK_STATES),
        "actions": [action.label for action in Action],
    }
