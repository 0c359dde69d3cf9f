"""Queries for conditions on events: occurrences of events, errors and log lines, with a line of text each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.queries.windows.other_work import NONE, OtherWork
from observatory.store.times import from_microseconds

MAX_ROWS: LiteralString = "20000"
"""newest rows that are read for a window"""
MAX_TEXT: LiteralString = "1000"
"""characters of a text"""
MICROSECONDS: LiteralString = "(extract(epoch FROM time) * 1000000)::bigint"

KILLED: LiteralString = "killed"
"""the kind of an error of a task whose workers died"""
WORKER: LiteralString = "LEFT JOIN worker ON worker.id = worker_id"
NAME: LiteralString = "coalesce(nullif(worker.name, ''), worker.address, '')"
STATUS: LiteralString = "coalesce(event.detail->>'status', '')"
"""a worker's new status, under the names that agents and the collector use"""


@dataclass(frozen=True, slots=True)
class Occurrence:
    time: int
    """microseconds"""
    worker: int | None
    name: str
    """the worker's name or address"""
    kind: str
    """an event's kind, or an error's outcome; "" for log lines"""
    count: int
    """number of tasks, for tasks-erred; otherwise 1"""
    level: int
    """for log lines"""
    status: str
    """the new status, for worker-status"""
    text: str


_EVENTS: LiteralString = f"""
    SELECT {MICROSECONDS} AS time, worker_id AS worker, {NAME} AS name, kind,
        CASE WHEN kind = 'tasks-erred' AND jsonb_typeof(event.detail->'count') = 'number'
             THEN least(greatest((event.detail->'count')::numeric, 0), 1000000000)::int ELSE 1 END AS count,
        0 AS level, CASE kind WHEN 'worker-status' THEN {STATUS} ELSE '' END AS status,
        left(coalesce(event.detail->>'message', ''), {MAX_TEXT}) AS text
    FROM event {WORKER} WHERE event.cluster_id = %(cluster)s AND kind = ANY(%(kinds)s)"""
_WITHIN: LiteralString = "AND time >= %(start)s AND time < %(stop)s"


_CLUSTER: LiteralString = "since.cluster"
_SINCE: LiteralString = "unnest(%(clusters)s::int[], %(starts)s::timestamptz[]) AS since (cluster, start)"


def _since(since: Mapping[int, int]) -> dict[str, Any]:
    return {
        "clusters": list(since),
        "starts": [from_microseconds(start) for start in since.values()],
        "first": from_microseconds(min(since.values())),
    }


def events(
    connection: psycopg.Connection, cluster: int, kinds: Sequence[str], start: int, stop: int
) -> list[Occurrence]:
    """The events in [start, stop) (microseconds) in order of time; the newest MAX_ROWS of them."""
    query: LiteralString = f"{_EVENTS} {_WITHIN} ORDER BY event.time DESC LIMIT {MAX_ROWS}"
    return _read(connection, query, _parameters(cluster, start, stop, kinds=list(kinds)))


def present_kinds(
    connection: psycopg.Connection, since: Mapping[int, int], kinds: Sequence[str]
) -> dict[int, set[str]]:
    """Those of `kinds` of which each cluster has events from its time in `since` (microseconds) on."""
    rows = connection.execute(
        f"""SELECT {_CLUSTER}, wanted.kind FROM {_SINCE}
           CROSS JOIN unnest(%(kinds)s::text[]) AS wanted (kind)
           WHERE EXISTS (SELECT FROM event WHERE event.cluster_id = {_CLUSTER} AND event.kind = wanted.kind
                         AND event.time >= since.start AND event.time >= %(first)s)""",
        _since(since) | {"kinds": list(kinds)},
    )
    found: dict[int, set[str]] = {}
    for cluster, kind in rows:
        found.setdefault(cluster, set()).add(kind)
    return found


def with_errors(connection: psycopg.Connection, since: Mapping[int, int]) -> set[int]:
    """The clusters with errors of tasks from their time in `since` (microseconds) on."""
    rows = connection.execute(
        f"""SELECT {_CLUSTER} FROM {_SINCE}
           WHERE EXISTS (SELECT FROM error WHERE error.cluster_id = {_CLUSTER}
                         AND error.time >= since.start AND error.time >= %(first)s)""",
        _since(since),
    )
    return {cluster for (cluster,) in rows}


def last_statuses(connection: psycopg.Connection, cluster: int, oldest: int, before: int) -> list[Occurrence]:
    """Each worker's last worker-status in [oldest, before) (microseconds)."""
    query: LiteralString = f"""SELECT DISTINCT ON (worker) * FROM ({_EVENTS} {_WITHIN}
        AND worker_id IS NOT NULL) AS statuses ORDER BY worker, time DESC"""
    return _read(connection, query, _parameters(cluster, oldest, before, kinds=["worker-status"]))


def last_event(
    connection: psycopg.Connection, cluster: int, kinds: Sequence[str], oldest: int, before: int
) -> list[Occurrence]:
    """The last event of `kinds` in [oldest, before) (microseconds), if any."""
    query: LiteralString = f"{_EVENTS} {_WITHIN} ORDER BY event.time DESC LIMIT 1"
    return _read(connection, query, _parameters(cluster, oldest, before, kinds=list(kinds)))


def errors(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork = NONE
) -> list[Occurrence]:
    """The tasks that failed for good in [start, stop) (microseconds), as an agent reported them."""
    query: LiteralString = f"""
        SELECT {MICROSECONDS} AS time, worker_id AS worker, {NAME} AS name,
            CASE exception_type WHEN 'KilledWorker' THEN '{KILLED}' ELSE outcome END AS kind,
            1 AS count, 0 AS level, '' AS status,
            left(concat_ws(': ', nullif(exception_type, ''), nullif(message, '')), {MAX_TEXT})
                || ' (' || prefix.name || ')' AS text
        FROM error JOIN prefix ON prefix.id = prefix_id {WORKER}
        WHERE error.cluster_id = %(cluster)s AND outcome <> 'retried' {_WITHIN}
            AND NOT {others.includes("error")}
        ORDER BY error.time DESC LIMIT {MAX_ROWS}"""
    return _read(connection, query, _parameters(cluster, start, stop, **others.parameters))


def log_lines(
    connection: psycopg.Connection, cluster: int, level: int, start: int, stop: int
) -> list[Occurrence]:
    """The log lines of at least `level` in [start, stop) (microseconds)."""
    query: LiteralString = f"""
        SELECT {MICROSECONDS} AS time, worker_id AS worker, {NAME} AS name, '' AS kind,
            1 AS count, level, '' AS status, left(message, {MAX_TEXT}) AS text
        FROM log {WORKER} WHERE log.cluster_id = %(cluster)s AND level >= %(level)s {_WITHIN}
        ORDER BY log.time DESC LIMIT {MAX_ROWS}"""
    return _read(connection, query, _parameters(cluster, start, stop, level=level))


def _read(
    connection: psycopg.Connection, query: LiteralString, parameters: dict[str, Any]
) -> list[Occurrence]:
    with connection.cursor(row_factory=class_row(Occurrence)) as cursor:
        return cursor.execute(query, parameters).fetchall()[::-1]


def _parameters(cluster: int, start: int, stop: int, **others: Any) -> dict[str, Any]:
    return {"cluster": cluster, "start": from_microseconds(start), "stop": from_microseconds(stop), **others}
