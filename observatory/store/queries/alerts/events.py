"""Queries for conditions on events: occurrences of events, errors and log lines, with a line of text each.

Each reads what is asked of many clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, LiteralString, NamedTuple

import psycopg

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


_EVENT: LiteralString = f"""{MICROSECONDS} AS time, worker_id AS worker, {NAME} AS name, kind,
        CASE WHEN kind = 'tasks-erred' AND jsonb_typeof(event.detail->'count') = 'number'
             THEN least(greatest((event.detail->'count')::numeric, 0), 1000000000)::int ELSE 1 END AS count,
        0 AS level, CASE kind WHEN 'worker-status' THEN {STATUS} ELSE '' END AS status,
        left(coalesce(event.detail->>'message', ''), {MAX_TEXT}) AS text"""
_ERROR: LiteralString = f"""{MICROSECONDS} AS time, worker_id AS worker, {NAME} AS name,
        CASE exception_type WHEN 'KilledWorker' THEN '{KILLED}' ELSE outcome END AS kind,
        1 AS count, 0 AS level, '' AS status,
        left(concat_ws(': ', nullif(exception_type, ''), nullif(message, '')), {MAX_TEXT})
            || ' (' || prefix.name || ')' AS text"""
_LINE: LiteralString = f"""{MICROSECONDS} AS time, worker_id AS worker, {NAME} AS name, '' AS kind,
        1 AS count, level, '' AS status, left(message, {MAX_TEXT}) AS text"""
_ASKED: LiteralString = """unnest(%(of)s::int[], %(whats)s::text[], %(starts)s::timestamptz[],
        %(stops)s::timestamptz[]) AS asked (cluster, what, start, stop)"""
_WITHIN: LiteralString = "time >= asked.start AND time < asked.stop AND time >= %(first)s AND time < %(last)s"


class Asked(NamedTuple):
    """What is read of one cluster, in [start, stop) (microseconds)."""

    cluster: int
    what: str
    """the kind of its events, or the lowest level of its log lines"""
    start: int
    stop: int


Found = Mapping[int, Sequence[Occurrence]]
"""by cluster, in order of time; clusters without any may be left out"""

_CLUSTER: LiteralString = "since.cluster"
_SINCE: LiteralString = "unnest(%(clusters)s::int[], %(starts)s::timestamptz[]) AS since (cluster, start)"


def _since(since: Mapping[int, int]) -> dict[str, Any]:
    return {
        "clusters": list(since),
        "starts": [from_microseconds(start) for start in since.values()],
        "first": from_microseconds(min(since.values())),
    }


def events(connection: psycopg.Connection, asked: Sequence[Asked]) -> Found:
    """The events of a kind of clusters, the newest MAX_ROWS of each."""
    query: LiteralString = f"""SELECT {_EVENT} FROM event {WORKER}
            WHERE event.cluster_id = asked.cluster AND kind = asked.what AND {_WITHIN}
            ORDER BY event.time DESC LIMIT {MAX_ROWS}"""
    return _read(connection, query, asked)


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


def last_statuses(connection: psycopg.Connection, asked: Sequence[Asked]) -> Found:
    """The last event of a kind of each worker of clusters."""
    query: LiteralString = f"""SELECT DISTINCT ON (worker_id) {_EVENT} FROM event {WORKER}
            WHERE event.cluster_id = asked.cluster AND kind = asked.what AND worker_id IS NOT NULL
                AND {_WITHIN}
            ORDER BY worker_id, event.time DESC"""
    return _read(connection, query, asked)


def last_events(connection: psycopg.Connection, asked: Sequence[Asked]) -> Found:
    """The last event of a kind of clusters, if any."""
    query: LiteralString = f"""SELECT {_EVENT} FROM event {WORKER}
            WHERE event.cluster_id = asked.cluster AND kind = asked.what AND {_WITHIN}
            ORDER BY event.time DESC LIMIT 1"""
    return _read(connection, query, asked)


def errors(connection: psycopg.Connection, asked: Sequence[Asked], others: OtherWork = NONE) -> Found:
    """The tasks of clusters that failed for good, as an agent reported them, the newest MAX_ROWS of each."""
    query: LiteralString = f"""SELECT {_ERROR} FROM error JOIN prefix ON prefix.id = prefix_id {WORKER}
            WHERE error.cluster_id = asked.cluster AND outcome <> 'retried' AND {_WITHIN}
                AND NOT {others.includes("error")}
            ORDER BY error.time DESC LIMIT {MAX_ROWS}"""
    return _read(connection, query, asked, others.parameters)


def log_lines(connection: psycopg.Connection, asked: Sequence[Asked]) -> Found:
    """The log lines of clusters of a least level, the newest MAX_ROWS of each."""
    query: LiteralString = f"""SELECT {_LINE} FROM log {WORKER}
            WHERE log.cluster_id = asked.cluster AND level >= asked.what::int AND {_WITHIN}
            ORDER BY log.time DESC LIMIT {MAX_ROWS}"""
    return _read(connection, query, asked)


def _read(
    connection: psycopg.Connection,
    query: LiteralString,
    asked: Sequence[Asked],
    others: Mapping[str, Any] = MappingProxyType({}),
) -> Found:
    """What `query`, which is about one row of `asked`, finds for each.

    `first` and `last` leave out the partitions that no window reaches.
    """
    if not asked:
        return {}
    of, whats, starts, stops = zip(*asked, strict=True)
    parameters = {
        "clusters": list(dict.fromkeys(of)),
        "of": list(of),
        "whats": list(whats),
        "starts": [from_microseconds(start) for start in starts],
        "stops": [from_microseconds(stop) for stop in stops],
        "first": from_microseconds(min(starts)),
        "last": from_microseconds(max(stops)),
        **others,
    }
    rows = connection.execute(
        f"""SELECT asked.cluster, found.* FROM {_ASKED} CROSS JOIN LATERAL ({query}) AS found
            ORDER BY found.time""",
        parameters,
    )
    found: dict[int, list[Occurrence]] = {}
    for cluster, *row in rows:
        found.setdefault(cluster, []).append(Occurrence(*row))
    return found
