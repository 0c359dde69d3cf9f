"""Reads what the time of a window's threads is accounted for from. A task is the hash of its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
import psycopg
from psycopg.rows import class_row

from observatory.store.keys import decode_key
from observatory.store.queries.fetch import Array, fetch_columns, fetch_packed_columns
from observatory.store.queries.sums.transfer_sums import LIFETIMES
from observatory.store.queries.timeline import OVERLAPS, WITHIN, window_parameters
from observatory.store.queries.windows.findings import EARLIER_WITHIN
from observatory.store.queries.windows.other_work import NONE, TASK, OtherWork
from observatory.store.queries.windows.outliers import PAUSES
from observatory.store.times import from_microseconds
from observatory.store.workers.slots import SLOT
from observatory.wire.client_code.runs import ACTIVITIES, WAITING
from observatory.wire.records import SOURCES, TASK_STATES, Action

MOST_CLIENT_ACTIVITIES = 500_000
"""that are read: of a hundred runs in a window, at least"""
SPAN_TYPES = {
    "task": "int64",
    "prefix": "int32",
    "group": "int32",
    "lane": "int32",
    "action": "int16",
    "status": "int16",
    "start": "microseconds",
    "stop": "microseconds",
    "nbytes": "int64",
}
SPANS: LiteralString = f"""
    SELECT {TASK.format("span")}, prefix_id, group_id, lane_id, action, status, start, stop, nbytes
    FROM span WHERE {OVERLAPS}"""
LANES: LiteralString = "SELECT id, worker_id FROM lane WHERE cluster_id = %(cluster)s ORDER BY id"
TRANSITION_TYPES = {
    "task": "int64",
    "prefix": "int32",
    "time": "microseconds",
    "start": "int16",
    "finish": "int16",
    "worker": "int32",
}
GOES_SOMEWHERE: LiteralString = (
    f"start <> finish AND (start, finish) <> "
    f"({TASK_STATES.index('released')}, {TASK_STATES.index('forgotten')})"
)
TRANSITIONS: LiteralString = f"""
    SELECT {TASK.format("transition")}, prefix_id, time, start, finish, coalesce(worker_id, 0)
    FROM transition JOIN task_group ON task_group.id = group_id
    WHERE transition.{WITHIN} AND {GOES_SOMEWHERE}"""
STEALS: LiteralString = f"""
    WITH lifetime AS MATERIALIZED ({LIFETIMES})
    SELECT {TASK.format("steal")}, prefix_id, time, {TASK_STATES.index("processing")}::int2,
        {TASK_STATES.index("processing")}::int2, lifetime.id
    FROM steal JOIN task_group ON task_group.id = group_id
    JOIN lifetime ON address = thief AND time >= started AND time < until
    WHERE steal.{WITHIN} AND outcome = 'confirm'"""
RESCHEDULED_TYPES = {"task": "int64", "group": "int32", "time": "microseconds"}
RESCHEDULED: LiteralString = f"""
    SELECT {TASK.format("transition")}, group_id, time FROM transition
    WHERE {WITHIN} AND start = {TASK_STATES.index("processing")}
        AND finish = {TASK_STATES.index("released")} AND stimulus LIKE 'reschedule-%%'"""
MOST_EARLIER = 200_000
"""transitions before a window that are looked at, the last ones"""
EARLIER: LiteralString = f"""
    WITH earlier AS MATERIALIZED (
        SELECT transition.group_id, key_rest, prefix_id, time, start, finish, worker_id
        FROM transition JOIN task_group ON task_group.id = group_id
        WHERE transition.{WITHIN} AND {GOES_SOMEWHERE}
            AND (prefix_id = ANY(%(prefixes)s::int[]) OR %(prefixes)s::int[] IS NULL)
        ORDER BY time DESC LIMIT %(most)s),
    task AS (
        SELECT group_id, key_rest FROM (
            SELECT DISTINCT ON (group_id, key_rest) group_id, key_rest, finish FROM earlier
            ORDER BY group_id, key_rest, time DESC) AS last
        WHERE finish = ANY(%(states)s::int2[]))
    SELECT {TASK.format("earlier")}, prefix_id, time, start, finish, coalesce(worker_id, 0), {{is_other}}
    FROM earlier JOIN task USING (group_id, key_rest)"""
INTERVAL_TYPES = {"worker": "int32", "start": "microseconds", "stop": "microseconds"}
RECEIVED: LiteralString = f"""
    SELECT worker_id, start, stop FROM transfer
    WHERE {OVERLAPS} AND direction = 0 AND worker_id IS NOT NULL"""
TRANSFER_TYPES = {"nbytes": "int64", "seconds": "float64"}
TRANSFERS: LiteralString = f"""
    SELECT nbytes, extract(epoch FROM stop - start)::float8 FROM transfer
    WHERE {OVERLAPS} AND direction = 0 AND worker_id IS NOT NULL"""
CLIENT_ACTIVITY_TYPES = {"activity": "int16", "start": "microseconds", "stop": "microseconds"}
CLIENT_ACTIVITIES: LiteralString = f"""
    SELECT activity, start, stop FROM client_activity WHERE {OVERLAPS}"""
CLIENTS_WAITED: LiteralString = f"""
    WITH of_run AS (
        SELECT run, min(start) AS first, max(stop) AS last FROM client_activity WHERE {OVERLAPS} GROUP BY run)
    SELECT EXISTS (
        SELECT FROM client_activity JOIN of_run USING (run)
        WHERE cluster_id = %(cluster)s AND start >= first AND start < last AND activity = %(waiting)s)"""
GRAPHS_RECEIVED: LiteralString = f"SELECT time FROM computation WHERE {WITHIN}"
WORKERS: LiteralString = f"""
    SELECT id, {SLOT} AS slot, nthreads AS threads, extract(epoch FROM started)::float8 AS started,
        extract(epoch FROM ended)::float8 AS ended,
        coalesce(end_reason IN ('lost', 'disappeared'), false) AS has_died, resources
    FROM worker
    WHERE cluster_id = %(cluster)s AND started < %(stop)s AND coalesce(ended > %(start)s, true)
    ORDER BY started, id"""
PROCESS_STARTS: LiteralString = """
    WITH process AS (
        SELECT id, started, CASE WHEN jsonb_typeof(detail->'process_started') = 'number'
                THEN (detail->'process_started')::float8 END AS begun,
            lag(ended) OVER (PARTITION BY host, detail->>'pid' ORDER BY started, id) AS left_before
        FROM worker WHERE cluster_id = %(cluster)s)
    SELECT id, greatest(begun, extract(epoch FROM left_before)::float8) FROM process
    WHERE begun IS NOT NULL AND started >= %(start)s AND started < %(stop)s"""
SEEN_FUNCTIONS: LiteralString = f"""
    WITH seen AS (
        SELECT stack_id, prefix_id, sum(count)::bigint AS count FROM profile
        WHERE {WITHIN} AND source = {SOURCES.index("task")} GROUP BY 1, 2),
    innermost AS (
        SELECT substring(frames FROM '[^\n]*$') AS frame, prefix_id, count
        FROM seen JOIN stack ON stack.id = stack_id)
    SELECT split_part(frame, E'\t', 1) AS name, split_part(frame, E'\t', 2) AS file,
        coalesce(substring(split_part(frame, E'\t', 3) FROM '^[0-9]{{1,9}}$'), '0')::int AS line,
        prefix_id AS prefix, sum(count)::bigint AS count
    FROM innermost GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC"""
KEYS: LiteralString = f"""
    SELECT key_rest, task_group.name FROM unnest(%(lanes)s::int[], %(starts)s::timestamptz[])
        WITH ORDINALITY AS wanted (lane, at, place)
    JOIN LATERAL (
        SELECT key_rest, group_id FROM span
        WHERE cluster_id = %(cluster)s AND lane_id = lane AND start = at
            AND action IN ({int(Action.COMPUTE)}, {int(Action.LONG_RUNNING)}) LIMIT 1
    ) AS found ON true
    JOIN task_group ON task_group.id = group_id ORDER BY place"""


@dataclass(frozen=True, slots=True)
class WorkerLifetime:
    id: int
    slot: str
    threads: int
    started: float
    ended: float | None
    """seconds; None: it lives"""
    has_died: bool
    """or disappeared, without closing"""
    resources: Any
    """as the worker told them: a JSON object"""


@dataclass(frozen=True, slots=True)
class SeenFunction:
    """A line of code in which samples of the profile saw tasks of a prefix."""

    name: str
    file: str
    line: int
    prefix: int | None
    count: int


def lifetimes(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[WorkerLifetime]:
    """Return the workers that lived in [start, stop) (microseconds)."""
    with connection.cursor(row_factory=class_row(WorkerLifetime)) as cursor:
        return cursor.execute(WORKERS, window_parameters(cluster, start, stop)).fetchall()


def spans(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return the spans that overlap the window: columns of SPAN_TYPES, and `worker`."""
    window = window_parameters(cluster, start, stop)
    found = fetch_packed_columns(connection, SPANS, window, SPAN_TYPES)
    lanes = fetch_columns(connection, LANES, window, {"id": "int32", "worker": "int32"})
    return {**found, "worker": lanes["worker"][np.searchsorted(lanes["id"], found["lane"])]}


def transitions(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork = NONE
) -> dict[str, Array]:
    """Return the transitions of the window; columns of TRANSITION_TYPES, worker 0 where there is none.

    Without those by which a task goes nowhere: from released to forgotten, a fifth of all, and from waiting
    to waiting, where it is about to be queued.
    """
    query = f"{TRANSITIONS} AND NOT {others.includes('transition')}"
    parameters = others.parameters | window_parameters(cluster, start, stop)
    return fetch_packed_columns(connection, query, parameters, TRANSITION_TYPES)


def transitions_of_others(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork
) -> dict[str, Array]:
    """Return those that `transitions` leaves out, because the tasks are others'."""
    query = f"{TRANSITIONS} AND {others.includes('transition')}"
    parameters = others.parameters | window_parameters(cluster, start, stop)
    return fetch_packed_columns(connection, query, parameters, TRANSITION_TYPES)


def rescheduled(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return when tasks were released because their calls raised `Reschedule`: columns of RESCHEDULED_TYPES.

    Source: the stimulus that distributed.worker.Worker.execute gives them.
    """
    return fetch_columns(connection, RESCHEDULED, window_parameters(cluster, start, stop), RESCHEDULED_TYPES)


def earlier_transitions(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    prefixes: Sequence[int] | None,
    states: Sequence[int],
    others: OtherWork,
) -> dict[str, Array]:
    """Return the transitions before `start` (microseconds) of the tasks that were in one of some states then.

    Those of the last MOST_EARLIER transitions; columns of TRANSITION_TYPES, and `is_other`: whether others
    submitted the task. `prefixes`: None: all.
    """
    found = {
        "prefixes": None if prefixes is None else list(prefixes),
        "states": list(states),
        "most": MOST_EARLIER,
    }
    window = window_parameters(cluster, max(0, start - EARLIER_WITHIN), start)
    query = EARLIER.format(is_other=others.includes("earlier"))
    types = {**TRANSITION_TYPES, "is_other": "bool"}
    return fetch_columns(connection, query, found | others.parameters | window, types)


def steals(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return stolen tasks as transitions from processing to processing on the thief."""
    return fetch_columns(connection, STEALS, window_parameters(cluster, start, stop), TRANSITION_TYPES)


def received(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return when workers received data: columns of INTERVAL_TYPES."""
    return fetch_packed_columns(connection, RECEIVED, window_parameters(cluster, start, stop), INTERVAL_TYPES)


def transfers(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return what workers received: columns of TRANSFER_TYPES."""
    return fetch_columns(connection, TRANSFERS, window_parameters(cluster, start, stop), TRANSFER_TYPES)


def pauses(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return when workers were paused: columns of INTERVAL_TYPES."""
    return fetch_columns(connection, PAUSES, window_parameters(cluster, start, stop), INTERVAL_TYPES)


def process_starts(
    connection: psycopg.Connection, cluster: int, start: int, stop: int
) -> list[tuple[int, float]]:
    """Return the workers that arrived in the window and when their processes had begun, in seconds.

    Without those of which that isn't known. Of a process that came back it is when it had left.
    """
    return connection.execute(PROCESS_STARTS, window_parameters(cluster, start, stop)).fetchall()


def client_activities(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork
) -> dict[str, Array]:
    """Return what clients did in runs that overlap the window: columns of CLIENT_ACTIVITY_TYPES."""
    query = f"{CLIENT_ACTIVITIES} AND {others.acted} LIMIT {MOST_CLIENT_ACTIVITIES}"
    parameters = others.parameters | window_parameters(cluster, start, stop)
    return fetch_columns(connection, query, parameters, CLIENT_ACTIVITY_TYPES)


def clients_waited(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> bool:
    """Return whether it is known when the clients waited whose runs overlap the window: maybe not in it."""
    parameters = window_parameters(cluster, start, stop) | {"waiting": ACTIVITIES.index(WAITING)}
    return bool(connection.execute(CLIENTS_WAITED, parameters).fetchone() == (True,))


def graphs_received(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork
) -> dict[str, Array]:
    """Return when the scheduler had received graphs: the column `time`, in order."""
    query = f"{GRAPHS_RECEIVED} AND {others.submitted} ORDER BY time"
    parameters = others.parameters | window_parameters(cluster, start, stop)
    return fetch_columns(connection, query, parameters, {"time": "microseconds"})


def seen_functions(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[SeenFunction]:
    """Return in which code samples of the window saw tasks, most often first."""
    with connection.cursor(row_factory=class_row(SeenFunction)) as cursor:
        return cursor.execute(SEEN_FUNCTIONS, window_parameters(cluster, start, stop)).fetchall()


def keys_of_computations(
    connection: psycopg.Connection, cluster: int, lanes: Sequence[int], starts: Sequence[int]
) -> list[str]:
    """Return the key of the task that began on each lane at each time (microseconds)."""
    times = [from_microseconds(start) for start in starts]
    rows = connection.execute(KEYS, {"cluster": cluster, "lanes": list(lanes), "starts": times})
    return [decode_key(rest, group) for rest, group in rows.fetchall()]
