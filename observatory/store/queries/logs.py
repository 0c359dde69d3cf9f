"""Reads the log lines of a cluster's processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Any, LiteralString

import psycopg
from django.conf import settings
from psycopg.rows import class_row

from observatory.store.archive.scans.conditions import AtLeast, Condition, Contains, OneOf, Test
from observatory.wire.records import ROLES

MAXIMUM_TRACEBACK: LiteralString = "20000"
"""characters of a traceback in a list of lines"""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Selects log lines; empty values match all."""

    level: int = 0
    """minimum level"""
    role: str = ""
    """one of ROLES"""
    worker: str = ""
    """part of the worker's name or address; case-insensitive"""
    logger: str = ""
    """a logger, with its child loggers"""
    text: str = ""
    """part of the message or traceback; case-insensitive"""
    workers: tuple[int, ...] = ()
    """ids of lifetimes of workers, with their nannies"""
    start: datetime | None = None
    stop: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A record of Python's logging in a process of the cluster."""

    time: datetime
    hash: int
    """orders lines of the same time; lines with the same time and hash are equal"""
    role: str
    level: int
    pid: int
    logger: str
    message: str
    traceback: str
    worker: str
    """name or address of the worker; empty: none"""
    address: str
    worker_id: int | None
    """of the lifetime"""


LogCursor = tuple[datetime, int]
"""time and hash of a line, for the next page"""

_HASH: LiteralString = (
    "hashtextextended(concat_ws(' ', role, level, pid, worker_id, logger, message, traceback), %(seed)s)"
)
_LINES: LiteralString = f"""
    SELECT log.time, {_HASH} AS hash, coalesce((%(roles)s::text[])[role + 1], '') AS role, level, pid,
           logger, message, left(traceback, {MAXIMUM_TRACEBACK}) AS traceback,
           coalesce(nullif(worker.name, ''), worker.address, '') AS worker,
           coalesce(worker.address, '') AS address, log.worker_id
    FROM log LEFT JOIN worker ON worker.id = log.worker_id
    WHERE log.cluster_id = %(cluster)s"""

_FILTER: LiteralString = """
    AND level >= %(level)s
    AND (%(role)s = '' OR role = array_position(%(roles)s::text[], %(role)s) - 1)
    AND (%(worker)s = '' OR strpos(lower(concat(worker.name, ' ', worker.address)), lower(%(worker)s)) > 0)
    AND (%(workers)s::int[] = '{}' OR log.worker_id = ANY(%(workers)s::int[]))
    AND (%(logger)s = '' OR logger = %(logger)s OR starts_with(logger, %(logger)s || '.'))
    AND (%(text)s = '' OR strpos(lower(message), lower(%(text)s)) > 0
         OR strpos(lower(traceback), lower(%(text)s)) > 0)
    AND (%(start)s::timestamptz IS NULL OR log.time >= %(start)s)
    AND (%(stop)s::timestamptz IS NULL OR log.time < %(stop)s)"""


def lines_before(
    connection: psycopg.Connection,
    cluster: int,
    filters: LogFilter,
    limit: int,
    cursor: LogCursor | None = None,
) -> list[LogLine]:
    """Return the newest lines, or those older than the cursor; newest first."""
    query: LiteralString = f"""{_LINES} {_FILTER}
        AND (%(time)s::timestamptz IS NULL
             OR log.time <= %(time)s AND (log.time, {_HASH}) < (%(time)s, %(hash)s))
        ORDER BY log.time DESC, hash DESC LIMIT %(limit)s"""
    return _lines(connection, query, {**_parameters(cluster, filters, cursor), "limit": limit})


def lines_after(
    connection: psycopg.Connection,
    cluster: int,
    filters: LogFilter,
    limit: int,
    cursor: LogCursor | None = None,
) -> list[LogLine]:
    """Return the oldest lines, or the oldest newer than the cursor; newest first."""
    query: LiteralString = f"""{_LINES} {_FILTER}
        AND (%(time)s::timestamptz IS NULL
             OR log.time >= %(time)s AND (log.time, {_HASH}) > (%(time)s, %(hash)s))
        ORDER BY log.time, hash LIMIT %(limit)s"""
    return _lines(connection, query, {**_parameters(cluster, filters, cursor), "limit": limit})[::-1]


def last_lines_of_worker(
    connection: psycopg.Connection, cluster: int, worker: int, start: datetime, stop: datetime, limit: int
) -> list[LogLine]:
    """Return the last lines of a worker and its nanny in [start, stop), sorted by time."""
    query: LiteralString = f"""{_LINES} AND log.worker_id = %(worker)s
        AND log.time >= %(start)s AND log.time < %(stop)s
        ORDER BY log.time DESC, hash DESC LIMIT %(limit)s"""
    parameters = {
        "cluster": cluster,
        "roles": list(ROLES),
        "seed": _seed(),
        "worker": worker,
        "start": start,
        "stop": stop,
        "limit": limit,
    }
    return _lines(connection, query, parameters)[::-1]


def condition_of(connection: psycopg.Connection, cluster: int, filters: LogFilter) -> Condition:
    """What a scan looks for to find the lines that a filter selects."""
    tests: list[Test] = [AtLeast("level", filters.level)] if filters.level else []
    if filters.role:
        tests.append(OneOf(("role",), frozenset({filters.role})))
    if filters.workers:
        rows = connection.execute(
            "SELECT position FROM worker WHERE cluster_id = %s AND id = ANY(%s)",
            [cluster, list(filters.workers)],
        )
        tests.append(OneOf(("worker_lifetime",), frozenset(position for (position,) in rows)))
    if filters.worker and " " not in filters.worker:  # name and address are compared as one text
        tests.append(Contains(("worker_name", "worker"), filters.worker))
    if filters.logger:
        tests.append(Contains(("logger",), filters.logger))
    if filters.text:
        tests.append(Contains(("message", "traceback"), filters.text))
    return Condition(tuple(tests), filters.start, filters.stop)


def _lines(connection: psycopg.Connection, query: LiteralString, parameters: dict[str, Any]) -> list[LogLine]:
    with connection.cursor(row_factory=class_row(LogLine)) as cursor:
        return cursor.execute(query, parameters).fetchall()


def _parameters(cluster: int, filters: LogFilter, cursor: LogCursor | None) -> dict[str, Any]:
    time, hash = cursor or (None, 0)
    return {
        "cluster": cluster,
        "roles": list(ROLES),
        "seed": _seed(),
        "level": filters.level,
        "role": filters.role,
        "worker": filters.worker,
        "workers": list(filters.workers),
        "logger": filters.logger,
        "text": filters.text,
        "start": filters.start,
        "stop": filters.stop,
        "time": time,
        "hash": hash,
    }


@cache
def _seed() -> int:
    """Return what hashes begin with, so that nobody finds a hidden text by comparing hashes of guesses."""
    return int.from_bytes(blake2b(settings.SECRET_KEY.encode(), digest_size=8).digest(), signed=True)
