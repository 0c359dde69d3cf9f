"""Reads the failed task attempts that agents recorded: grouped, as a list, or one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from observatory.store.archive.scans.conditions import Condition, OneOf
from observatory.store.keys import StoredKeys
from observatory.store.queries.windows.other_work import NONE, OtherWork
from observatory.store.reading.scanning import parts

OUTCOMES = ("erred", "retried", "killed")
EMPTY: Mapping[int, OtherWork] = {}
ErrorKinds = dict[tuple[str, str], datetime]
"""exception types and prefixes, with the time of the first error of each"""


@dataclass(frozen=True, slots=True)
class ErrorFilter:
    """Selects errors; empty values match all."""

    text: str = ""
    """part of the exception type, message, function or task key; case-insensitive"""
    prefix: str = ""
    outcome: str = ""
    """one of OUTCOMES"""
    exception_type: str | None = None
    """the exact type; "" matches errors without one, None all"""
    start: datetime | None = None
    stop: datetime | None = None
    others: OtherWork = NONE
    """tasks whose errors are left out"""


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """The errors of one exception type in tasks of one prefix."""

    exception_type: str
    prefix: str
    count: int
    retried: int
    killed: int
    first: datetime
    last: datetime
    workers: int
    """number of addresses where the tasks failed or the workers died"""
    id: UUID
    """of the last error"""
    message: str
    """of the last error"""
    function: str
    """that the task of the last error called; empty: unknown"""
    groups: int
    """number of all groups that match the filter"""


@dataclass(frozen=True, slots=True)
class TaskError:
    """A failed attempt of a task."""

    id: UUID
    time: datetime
    prefix: str
    key: str
    outcome: str
    exception_type: str
    message: str
    retries: int
    """remaining attempts"""
    workers: list[str]
    """addresses of the workers where it failed or that died with it, in order"""
    dependents: int
    """number of tasks that erred because of it"""
    worker: str
    """name or address of the worker that reported it; empty: none"""
    function: str
    """name of the function that was called; empty: unknown"""
    arguments: str
    """of the call, one a line; empty unless the agent's setting asks for them"""
    traceback: str = ""
    """empty unless requested"""


_ROWS: LiteralString = """
    FROM error
    JOIN task_group ON task_group.id = error.group_id
    JOIN prefix ON prefix.id = error.prefix_id
    LEFT JOIN worker ON worker.id = error.worker_id
    WHERE error.cluster_id = %(cluster)s"""

_KEY: LiteralString = "replace(error.key_rest, U&'\\0001', task_group.name)"

_WORKERS: LiteralString = """ARRAY(
    SELECT listed.value FROM jsonb_array_elements_text(
        CASE jsonb_typeof(workers) WHEN 'array' THEN workers ELSE '[]' END) AS listed
    WHERE listed.value IS NOT NULL)"""

_FILTER: LiteralString = f"""
    AND (%(prefix)s = '' OR prefix.name = %(prefix)s)
    AND (%(outcome)s = '' OR outcome = %(outcome)s)
    AND (%(start)s::timestamptz IS NULL OR error.time >= %(start)s)
    AND (%(stop)s::timestamptz IS NULL OR error.time < %(stop)s)
    AND (%(exception_type)s::text IS NULL OR exception_type = %(exception_type)s)
    AND (%(text)s = ''
         OR strpos(lower(concat_ws(' ', exception_type, message, function, {_KEY})), lower(%(text)s)) > 0)"""

_COLUMNS: LiteralString = f"""
    SELECT error.id, error.time, prefix.name AS prefix, {_KEY} AS key, outcome, exception_type, message,
           error.retries, {_WORKERS} AS workers, dependents,
           coalesce(nullif(worker.name, ''), worker.address, '') AS worker, function, arguments"""


def error_groups(
    connection: psycopg.Connection, cluster: int, filters: ErrorFilter, limit: int, offset: int = 0
) -> list[ErrorGroup]:
    """Return the groups of matching errors, latest error first."""
    query: LiteralString = f"""
        WITH found AS (
            SELECT error.id, error.time, exception_type, prefix.name AS prefix, outcome, {_WORKERS} AS workers
            {_ROWS} {_FILTER} AND NOT {filters.others.includes("error")}
        ), counted AS (
            SELECT exception_type, prefix, count(*) AS count,
                   count(*) FILTER (WHERE outcome = 'retried') AS retried,
                   count(*) FILTER (WHERE outcome = 'killed') AS killed,
                   min(time) AS first, max(time) AS last,
                   (array_agg(id ORDER BY time DESC))[1] AS id, count(*) OVER () AS groups
            FROM found GROUP BY exception_type, prefix
            ORDER BY last DESC, exception_type, prefix LIMIT %(limit)s OFFSET %(offset)s
        )
        SELECT counted.*, (
                   SELECT count(DISTINCT address)
                   FROM found CROSS JOIN unnest(found.workers) AS address
                   WHERE found.exception_type = counted.exception_type AND found.prefix = counted.prefix
               ) AS workers, newest.message, newest.function
        FROM counted CROSS JOIN LATERAL (
            SELECT message, function FROM error
            WHERE cluster_id = %(cluster)s AND time = counted.last AND error.id = counted.id LIMIT 1
        ) AS newest
        ORDER BY last DESC, exception_type, prefix"""
    with connection.cursor(row_factory=class_row(ErrorGroup)) as cursor:
        parameters = {**_parameters(cluster, filters), "limit": limit, "offset": offset}
        return cursor.execute(query, parameters).fetchall()


def task_errors(
    connection: psycopg.Connection,
    cluster: int,
    filters: ErrorFilter,
    limit: int,
    before: tuple[datetime, UUID] | None = None,
    with_tracebacks: bool = False,
) -> list[TaskError]:
    """Return the newest matching errors, or those before the error with the given time and id."""
    time, id = before or (None, None)
    columns: LiteralString = f"{_COLUMNS}, traceback" if with_tracebacks else _COLUMNS
    query: LiteralString = f"""{columns} {_ROWS} {_FILTER} AND NOT {filters.others.includes("error")}
        AND (%(time)s::timestamptz IS NULL OR error.time <= %(time)s
             AND (error.time, error.id) < (%(time)s, %(id)s::uuid))
        ORDER BY error.time DESC, error.id DESC LIMIT %(limit)s"""
    return _errors(
        connection, query, {**_parameters(cluster, filters), "time": time, "id": id, "limit": limit}
    )


def task_error(connection: psycopg.Connection, cluster: int, id: UUID) -> TaskError | None:
    """Return one error with its traceback; None if the cluster has no such error."""
    found = _errors(
        connection,
        f"{_COLUMNS}, traceback {_ROWS} AND error.id = %(id)s LIMIT 1",
        {"cluster": cluster, "id": id},
    )
    return found[0] if found else None


def first_error(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, others: OtherWork = NONE
) -> TaskError | None:
    """Return the first error in [start, stop) of a task that failed for good; None if there is none."""
    query: LiteralString = f"""{_COLUMNS} {_ROWS} AND error.time >= %(start)s AND error.time < %(stop)s
        AND outcome <> 'retried' AND NOT {others.includes("error")} ORDER BY error.time, error.id LIMIT 1"""
    failed = Condition((OneOf(("outcome",), frozenset(OUTCOMES) - {"retried"}),), start)
    with closing(parts(connection, cluster, "error", failed, stop)) as stretches:
        for begin, end in stretches:
            parameters = {"cluster": cluster, "start": begin, "stop": end, **others.parameters}
            if found := _errors(connection, query, parameters):
                return found[0]
    return None


def error_kinds(
    connection: psycopg.Connection,
    windows: Mapping[int, tuple[int, datetime, datetime]],
    others: Mapping[int, OtherWork] = EMPTY,
) -> dict[int, ErrorKinds]:
    """For each window (cluster, start, stop) the exception types and prefixes of tasks that failed for good
    in it, with the time of the first error of each. `others`: of some windows the tasks that don't count."""
    shared = {key: windows[key] for key, tasks in others.items() if tasks}
    found = _error_kinds(connection, {key: windows[key] for key in windows.keys() - shared.keys()}, NONE)
    for key, window in shared.items():
        found |= _error_kinds(connection, {key: window}, others[key])
    return found


def _error_kinds(
    connection: psycopg.Connection, windows: Mapping[int, tuple[int, datetime, datetime]], others: OtherWork
) -> dict[int, ErrorKinds]:
    found: dict[int, ErrorKinds] = {key: {} for key in windows}
    places = zip(*windows.values(), strict=True) if windows else ([], [], [])
    clusters, starts, stops = (list(column) for column in places)
    rows = connection.execute(
        f"""SELECT place, exception_type, prefix.name, min(error.time)
           FROM unnest(%(keys)s::bigint[], %(clusters)s::int[],
                       %(starts)s::timestamptz[], %(stops)s::timestamptz[])
                AS windows (place, cluster, start, stop)
           JOIN error ON error.cluster_id = windows.cluster
                     AND error.time >= windows.start AND error.time < windows.stop
           JOIN prefix ON prefix.id = error.prefix_id
           WHERE outcome <> 'retried' AND NOT {others.includes("error")}
           GROUP BY place, exception_type, prefix.name""",
        {
            "keys": list(windows),
            "clusters": clusters,
            "starts": starts,
            "stops": stops,
            **others.parameters,
        },
    )
    for place, exception_type, prefix, first in rows:
        found[place][exception_type, prefix] = first
    return found


def errors_of_key(
    connection: psycopg.Connection, cluster: int, keys: StoredKeys, limit: int
) -> list[TaskError]:
    """Return the first errors of a task, sorted by time."""
    return _errors(
        connection,
        f"""{_COLUMNS} {_ROWS} AND {keys.condition()}
            ORDER BY error.time LIMIT %(limit)s""",
        {"cluster": cluster, **keys.parameters, "limit": limit},
    )


def _errors(
    connection: psycopg.Connection, query: LiteralString, parameters: Mapping[str, Any]
) -> list[TaskError]:
    with connection.cursor(row_factory=class_row(TaskError)) as cursor:
        return cursor.execute(query, parameters).fetchall()


def _parameters(cluster: int, filters: ErrorFilter) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "text": filters.text,
        "prefix": filters.prefix,
        "outcome": filters.outcome,
        "exception_type": filters.exception_type,
        "start": filters.start,
        "stop": filters.stop,
        **filters.others.parameters,
    }
