"""Reads the log lines of a cluster's processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.wire.records import ROLES

MAXIMUM_TRACEBACK: LiteralString = "20000"
"""characters of one that a list of lines has"""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What was asked for; an empty value asks for all."""

    level: int = 0
    """the least"""
    role: str = ""
    """one of ROLES"""
    worker: str = ""
    """part of its name or address, in any case"""
    logger: str = ""
    """it, and the loggers below it"""
    text: str = ""
    """part of the message or the traceback, in any case"""
    start: datetime | None = None
    stop: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A record of Python's logging."""

    time: datetime
    place: int
    """among those of one time; lines with the same time and place are the same in everything"""
    role: str
    level: int
    pid: int
    logger: str
    message: str
    traceback: str
    worker: str
    """name or address of the worker, or empty"""
    address: str


LogCursor = tuple[datetime, int]
"""time and place of a line, to go on from"""

_PLACE: LiteralString = (
    "hashtextextended(concat_ws(' ', role, level, pid, worker_id, logger, message, traceback), 0)"
)
_LINES: LiteralString = f"""
    SELECT log.time, {_PLACE} AS place, coalesce((%(roles)s::text[])[role + 1], '') AS role, level, pid,
           logger, message, left(traceback, {MAXIMUM_TRACEBACK}) AS traceback,
           coalesce(nullif(worker.name, ''), worker.address, '') AS worker,
           coalesce(worker.address, '') AS address
    FROM log LEFT JOIN worker ON worker.id = log.worker_id
    WHERE log.cluster_id = %(cluster)s"""

_WANTED: LiteralString = """
    AND level >= %(level)s
    AND (%(role)s = '' OR role = array_position(%(roles)s::text[], %(role)s) - 1)
    AND (%(worker)s = '' OR strpos(lower(concat(worker.name, ' ', worker.address)), lower(%(worker)s)) > 0)
    AND (%(logger)s = '' OR logger = %(logger)s OR starts_with(logger, %(logger)s || '.'))
    AND (%(text)s = '' OR strpos(lower(message), lower(%(text)s)) > 0
         OR strpos(lower(traceback), lower(%(text)s)) > 0)
    AND (%(start)s::timestamptz IS NULL OR log.time >= %(start)s)
    AND (%(stop)s::timestamptz IS NULL OR log.time < %(stop)s)"""


def lines_before(
    connection: psycopg.Connection, cluster: int, wanted: LogFilter, limit: int, mark: LogCursor | None = None
) -> list[LogLine]:
    """The newest lines, or those older than the mark; newest first."""
    query: LiteralString = f"""{_LINES} {_WANTED}
        AND (%(time)s::timestamptz IS NULL
             OR log.time <= %(time)s AND (log.time, {_PLACE}) < (%(time)s, %(place)s))
        ORDER BY log.time DESC, place DESC LIMIT %(limit)s"""
    return _lines(connection, query, {**_parameters(cluster, wanted, mark), "limit": limit})


def lines_after(
    connection: psycopg.Connection, cluster: int, wanted: LogFilter, limit: int, mark: LogCursor
) -> list[LogLine]:
    """The oldest lines that are newer than the mark; newest first."""
    query: LiteralString = f"""{_LINES} {_WANTED}
        AND log.time >= %(time)s AND (log.time, {_PLACE}) > (%(time)s, %(place)s)
        ORDER BY log.time, place LIMIT %(limit)s"""
    return _lines(connection, query, {**_parameters(cluster, wanted, mark), "limit": limit})[::-1]


def last_lines_of_worker(
    connection: psycopg.Connection, cluster: int, worker: int, start: datetime, stop: datetime, limit: int
) -> list[LogLine]:
    """What the worker and its nanny logged in [start, stop), in order of time."""
    query: LiteralString = f"""{_LINES} AND log.worker_id = %(worker)s
        AND log.time >= %(start)s AND log.time < %(stop)s
        ORDER BY log.time DESC, place DESC LIMIT %(limit)s"""
    parameters = {
        "cluster": cluster,
        "roles": list(ROLES),
        "worker": worker,
        "start": start,
        "stop": stop,
        "limit": limit,
    }
    return _lines(connection, query, parameters)[::-1]


def _lines(connection: psycopg.Connection, query: LiteralString, parameters: dict[str, Any]) -> list[LogLine]:
    with connection.cursor(row_factory=class_row(LogLine)) as cursor:
        return cursor.execute(query, parameters).fetchall()


def _parameters(cluster: int, wanted: LogFilter, mark: LogCursor | None) -> dict[str, Any]:
    time, place = mark or (None, 0)
    return {
        "cluster": cluster,
        "roles": list(ROLES),
        "level": wanted.level,
        "role": wanted.role,
        "worker": wanted.worker,
        "logger": wanted.logger,
        "text": wanted.text,
        "start": wanted.start,
        "stop": wanted.stop,
        "time": time,
        "place": place,
    }
